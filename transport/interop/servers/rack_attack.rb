# Serves Rack::Attack: ruby rack_attack.rb NAME LIMIT WINDOW_IN_SECONDS
require 'active_support'
require 'active_support/cache'
require 'rack'
require 'rack/attack'
require 'webrick'

name, limit, window = ARGV[0], Integer(ARGV[1]), Integer(ARGV[2])
Rack::Attack.cache.store = ActiveSupport::Cache::MemoryStore.new
Rack::Attack.throttle('req/ip', limit: limit, period: window) { |req| req.ip }
if name == 'README fields'
  # Word for word from the README's section "RateLimit headers for well-behaved clients".
  Rack::Attack.throttled_responder = lambda do |request|
    match_data = request.env['rack.attack.match_data']
    now = match_data[:epoch_time]
    headers = {
      'RateLimit-Limit' => match_data[:limit].to_s,
      'RateLimit-Remaining' => '0',
      'RateLimit-Reset' => (now + (match_data[:period] - now % match_data[:period])).to_s
    }
    [429, headers, ["Throttled\n"]]
  end
end
app = Rack::Attack.new(->(_env) { [200, { 'Content-Type' => 'application/json' }, ['{"ok":true}']] })

quiet = WEBrick::Log.new(File::NULL)
server = WEBrick::HTTPServer.new(BindAddress: '127.0.0.1', Port: 0, Logger: quiet, AccessLog: [])
server.mount('/', Rack::Handler::WEBrick, app)
puts "listening on #{server.listeners[0].addr[1]}"
$stdout.flush
server.start
