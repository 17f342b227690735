"use strict";
// The server renders the page and sends it again whenever it has changed. This
// script takes over what differs, so that focus, selection and opened details stay.
(() => {
	const what = document.getElementById("what");
	const link = document.getElementById("link");
	const news = document.getElementById("news");
	const pause = document.getElementById("pause");
	let stream = null, paused = false, told = 0, last = "", timer = 0;

	const say = (text, kind) => {
		if (link.textContent !== text) link.textContent = text;
		link.className = kind;
	};

	const key = (n) => n.nodeType === 1 ? n.nodeName + "|" + (n.getAttribute("data-key") ?? "") : "#" + n.nodeType;

	// morph makes the children of a like those of b.
	const morph = (a, b) => {
		const byKey = new Map();
		for (const n of a.children) {
			const k = n.getAttribute("data-key");
			if (k !== null) byKey.set(key(n), n);
		}
		let at = a.firstChild;
		for (let want = b.firstChild; want; ) {
			const next = want.nextSibling;
			let have = want.nodeType === 1 && want.hasAttribute("data-key") ? byKey.get(key(want)) : at;
			if (have && key(have) === key(want)) {
				byKey.delete(key(want));
				if (have !== at) a.insertBefore(have, at);
				else at = at.nextSibling;
				if (have.nodeType === 1) {
					for (const x of want.attributes) if (have.getAttribute(x.name) !== x.value) have.setAttribute(x.name, x.value);
					for (const x of [...have.attributes]) if (!want.hasAttribute(x.name) && x.name !== "open") have.removeAttribute(x.name);
					morph(have, want);
				} else if (have.data !== want.data) have.data = want.data;
			} else a.insertBefore(want, at);
			want = next;
		}
		while (at) {
			const next = at.nextSibling;
			at.remove();
			at = next;
		}
	};

	const show = (html) => {
		const doc = new DOMParser().parseFromString(html, "text/html");
		morph(what, doc.body);
		// New trouble is read out, at most every 5 s.
		const bad = what.querySelector(".events li.bad");
		const text = bad ? bad.textContent : "";
		if (text !== last && Date.now() - told > 5000) {
			if (last !== "" || bad) news.textContent = text;
			last = text;
			told = Date.now();
		}
	};

	const close = () => {
		clearTimeout(timer);
		if (stream) stream.close();
		stream = null;
	};

	const open = () => {
		close();
		if (paused || document.hidden) return;
		const s = stream = new EventSource("events");
		s.addEventListener("state", (e) => { if (s === stream) { say("live", "live"); show(e.data); } });
		s.addEventListener("error", () => {
			if (s !== stream) return;
			say("reconnecting", "lost");
			// The browser tries again by itself, unless it was refused.
			if (s.readyState === EventSource.CLOSED) timer = setTimeout(poll, 2000);
		});
	};

	// poll is for a server that has too many viewers, or is gone.
	const poll = async () => {
		try {
			const r = await fetch("view", {cache: "no-store"});
			if (!r.ok) throw new Error(r.statusText);
			show(await r.text());
			say("every few seconds", "live");
		} catch {
			say("reconnecting", "lost");
		}
		timer = setTimeout(open, 3000);
	};

	pause.hidden = false;
	pause.addEventListener("click", () => {
		paused = !paused;
		pause.textContent = paused ? "Go on" : "Pause";
		if (paused) {
			close();
			say("paused", "");
		} else open();
	});
	document.addEventListener("visibilitychange", open);
	open();
})();
