package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/fleet"
)

// These tests have processes use Redis by the other clients that the documentation names.

// requireBoth requires that the two processes find each other.
func requireBoth(t *testing.T, one, other *process) {
	t.Helper()
	one.until("find each other", func(s fleet.Status) bool { other.get(); return s.Linked && s.Peers == 2 })
}

func TestTLS(t *testing.T) {
	https := httptest.NewTLSServer(nil) // for its certificate
	defer https.Close()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(https.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	port := free(t)
	certificate := write("certificate", "CERTIFICATE", https.Certificate().Raw)
	s := start(t, "--bind", "127.0.0.1")
	admin := s.client()
	defer admin.Close()
	if admin.ConfigGet(t.Context(), "tls-port").Val()["tls-port"] == "" {
		t.Skip("this redis-server has no TLS")
	}
	require.NoError(t, admin.Do(t.Context(), "CONFIG", "SET", "tls-auth-clients", "no", "tls-port", port,
		"tls-cert-file", certificate, "tls-key-file", write("key", "PRIVATE KEY", key)).Err())
	trusted := x509.NewCertPool()
	trusted.AddCert(https.Certificate())
	client := func(c *tls.Config) *redis.Client {
		return redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:" + strconv.Itoa(port), TLSConfig: c,
			MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: 200 * time.Millisecond, DialerRetries: 1,
		})
	}
	api := plenty()
	requireBoth(t, newProcess(t, client(&tls.Config{RootCAs: trusted}), api), newProcess(t, client(&tls.Config{RootCAs: trusted}), api))

	// A server that cannot be trusted is as good as none.
	p := newProcess(t, client(&tls.Config{}), api)
	var unknown x509.UnknownAuthorityError
	p.until("alone", func(s fleet.Status) bool { return alone(s) && errors.As(s.Err, &unknown) })
}

// A master is lost, and its replica takes over.
func TestSentinel(t *testing.T) {
	ports := []int{free(t), free(t), free(t)}
	tcp := func(port int) []string { return []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1"} }
	master := start(t, tcp(ports[0])...)
	replica := start(t, append(tcp(ports[1]), "--replicaof", "127.0.0.1 "+strconv.Itoa(ports[0]), "--repl-diskless-sync-delay", "0")...)

	sentinel := start(t)
	sentinel.kill()
	file := filepath.Join(sentinel.dir, "conf")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
port %d
bind 127.0.0.1
dir %s
unixsocket %s
loglevel warning
sentinel monitor quotas 127.0.0.1 %d 1
sentinel down-after-milliseconds quotas 500
sentinel failover-timeout quotas 2000
`, ports[2], sentinel.dir, sentinel.socket, ports[0]), 0o600))
	sentinel.args = []string{sentinel.args[0], file, "--sentinel"}
	sentinel.run()
	client := func() redis.UniversalClient {
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "quotas", SentinelAddrs: []string{"127.0.0.1:" + strconv.Itoa(ports[2])},
			MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: 200 * time.Millisecond, DialerRetries: 1,
		})
	}
	api := plenty()
	one, other := newProcess(t, client(), api), newProcess(t, client(), api)
	requireBoth(t, one, other)
	asked, follower := sentinel.client(), replica.client()
	defer asked.Close()
	defer follower.Close()
	eventually(t, "the sentinel knows the replica", func() bool {
		replicas, _ := asked.Do(t.Context(), "SENTINEL", "REPLICAS", "quotas").Slice()
		keys, _ := follower.Keys(t.Context(), "hw6:*").Result()
		return len(replicas) == 1 && len(keys) > 0
	})

	master.kill()
	one.until("alone", alone)
	requireBoth(t, one, other)
	assert.Zero(t, api.Counts().Refused)
}
