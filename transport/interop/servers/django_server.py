"""Serves Django REST framework: python3 django_server.py NAME LIMIT WINDOW_IN_SECONDS

Its throttles know seconds, minutes, hours and days. The window is set as the README of
the framework says for others: by a subclass with a parse_rate of its own."""
import logging
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

_, limit, window = sys.argv[1:4]
settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="interop",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework"],
    CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None})
django.setup()
logging.disable(logging.CRITICAL)

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import re_path  # noqa: E402
from rest_framework.decorators import api_view, throttle_classes  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.throttling import AnonRateThrottle  # noqa: E402


class Throttle(AnonRateThrottle):
    rate = "set below"

    def parse_rate(self, rate):
        return int(limit), int(window)


@api_view(["GET"])
@throttle_classes([Throttle])
def index(request):
    return Response({"ok": True})


urlpatterns = [re_path("", index)]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *args):
        pass


server = make_server("127.0.0.1", 0, get_wsgi_application(), Server, Handler)
print("listening on", server.server_port, flush=True)
server.serve_forever()
