"""Serves Flask-Limiter: python3 flask_limiter_server.py NAME LIMIT WINDOW_IN_SECONDS"""
import sys
from werkzeug.serving import make_server
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

name, limit, window = sys.argv[1:4]
options = {
    "fixed window": dict(strategy="fixed-window"),
    "moving window": dict(strategy="moving-window"),
    "HTTP-date": dict(strategy="fixed-window", retry_after="http-date"),
    "no fields": dict(strategy="fixed-window", headers_enabled=False),
}[name]
app = Flask(__name__)
Limiter(get_remote_address, app=app, storage_uri="memory://",
        default_limits=[f"{limit} per {window} second"], **{"headers_enabled": True, **options})


@app.route("/<path:path>")
def index(path):
    return {"ok": True}


server = make_server("127.0.0.1", 0, app, threaded=True)
print("listening on", server.server_port, flush=True)
server.serve_forever()
