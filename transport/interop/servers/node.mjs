// Node serves one published rate limiter of npm, configured as its documentation says:
//
//	node node.mjs NAME LIMIT WINDOW_IN_MS
//
// It prints "listening on PORT" and serves until it is ended.
import http from 'node:http';

const [name, limitText, windowText] = process.argv.slice(2);
const limit = Number(limitText), windowMs = Number(windowText);

const listening = (port) => console.log(`listening on ${port}`);

// serve listens with a handler of node:http.
const serve = (handler) => {
	const server = http.createServer(handler);
	server.listen(0, '127.0.0.1', () => listening(server.address().port));
};

// express starts an app of express with what it is to use.
const express = async (...middleware) => {
	const app = (await import('express')).default();
	for (const m of middleware) app.use(m);
	app.get('/{*path}', (_, res) => res.json({ ok: true }));
	serve(app);
};

const expressRateLimit = async (options) => {
	const { rateLimit } = await import('express-rate-limit');
	await express(rateLimit({ windowMs, limit, ...options }));
};

const fastify = async (options) => {
	const app = (await import('fastify')).default();
	await app.register(await import('@fastify/rate-limit'), { max: limit, timeWindow: windowMs, ...options });
	app.get('/*', async () => ({ ok: true }));
	await app.listen({ port: 0, host: '127.0.0.1' });
	listening(app.server.address().port);
};

const hono = async (options) => {
	const { Hono } = await import('hono');
	const { serve } = await import('@hono/node-server');
	const { rateLimiter } = await import('hono-rate-limiter');
	const app = new Hono();
	app.use(rateLimiter({ windowMs, limit, keyGenerator: () => 'all', ...options }));
	app.get('/*', (c) => c.json({ ok: true }));
	serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, (info) => listening(info.port));
};

// flexible is the wiring of rate-limiter-flexible's README, with its four fields or none.
const flexible = async (limiter, fields) => {
	await express(async (req, res, next) => {
		let got, refused = false;
		try {
			got = await limiter.consume(req.ip);
		} catch (e) {
			[got, refused] = [e, true];
		}
		if (fields) {
			res.set({
				'Retry-After': got.msBeforeNext / 1000,
				'X-RateLimit-Limit': limit,
				'X-RateLimit-Remaining': got.remainingPoints,
				'X-RateLimit-Reset': Math.ceil((Date.now() + got.msBeforeNext) / 1000),
			});
		}
		if (refused) res.status(429).send('Too Many Requests');
		else next();
	});
};

const nest = async () => {
	await import('reflect-metadata');
	const { Module, Controller, Get } = await import('@nestjs/common');
	const { NestFactory, APP_GUARD } = await import('@nestjs/core');
	const { ThrottlerModule, ThrottlerGuard } = await import('@nestjs/throttler');
	// Decorators, as functions.
	class API { index() { return { ok: true }; } }
	Controller()(API);
	Get('*path')(API.prototype, 'index', Object.getOwnPropertyDescriptor(API.prototype, 'index'));
	class App {}
	Module({
		imports: [ThrottlerModule.forRoot([{ ttl: windowMs, limit }])],
		controllers: [API],
		providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
	})(App);
	const app = await NestFactory.create(App, { logger: false });
	await app.listen(0, '127.0.0.1');
	listening(app.getHttpServer().address().port);
};

const servers = {
	'express-rate-limit, defaults': () => expressRateLimit({}),
	'express-rate-limit, legacy fields': () => expressRateLimit({ legacyHeaders: true, standardHeaders: false }),
	'express-rate-limit, draft-6': () => expressRateLimit({ legacyHeaders: false, standardHeaders: 'draft-6' }),
	'express-rate-limit, draft-7': () => expressRateLimit({ legacyHeaders: false, standardHeaders: 'draft-7' }),
	'express-rate-limit, draft-8': () => expressRateLimit({ legacyHeaders: false, standardHeaders: 'draft-8' }),
	'express-rate-limit, no fields': () => expressRateLimit({ legacyHeaders: false, standardHeaders: false }),
	'express-rate-limit, two policies': async () => {
		const { rateLimit } = await import('express-rate-limit');
		const fields = { legacyHeaders: false, standardHeaders: 'draft-8' };
		await express(rateLimit({ windowMs, limit, ...fields }), rateLimit({ windowMs: 5 * windowMs, limit: 4 * limit, ...fields }));
	},
	'@fastify/rate-limit, defaults': () => fastify({}),
	'@fastify/rate-limit, draft names': () => fastify({ enableDraftSpec: true }),
	'@fastify/rate-limit, sliding': () => fastify({ continueExceeding: true }),
	'hono-rate-limiter, draft-6': () => hono({ standardHeaders: 'draft-6' }),
	'hono-rate-limiter, draft-7': () => hono({ standardHeaders: 'draft-7' }),
	'koa-ratelimit': async () => {
		const Koa = (await import('koa')).default;
		const ratelimit = (await import('koa-ratelimit')).default;
		const app = new Koa();
		app.use(ratelimit({ driver: 'memory', db: new Map(), duration: windowMs, max: limit, id: (c) => c.ip }));
		app.use((c) => { c.body = { ok: true }; });
		serve(app.callback());
	},
	'rate-limiter-flexible, README': async () => {
		const { RateLimiterMemory } = await import('rate-limiter-flexible');
		await flexible(new RateLimiterMemory({ points: limit, duration: windowMs / 1000 }), true);
	},
	'rate-limiter-flexible, no fields': async () => {
		const { RateLimiterMemory } = await import('rate-limiter-flexible');
		await flexible(new RateLimiterMemory({ points: limit, duration: windowMs / 1000 }), false);
	},
	'rate-limiter-flexible, with a block': async () => {
		const { RateLimiterMemory } = await import('rate-limiter-flexible');
		await flexible(new RateLimiterMemory({ points: limit, duration: windowMs / 1000, blockDuration: 2 * windowMs / 1000 }), true);
	},
	'@nestjs/throttler': nest,
};

await servers[name]();
