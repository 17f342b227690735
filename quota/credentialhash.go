package quota

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// maxHashes bounds the hashes that are remembered. Beyond it all are forgotten, and
// computed again when they are needed.
const maxHashes = 10_000

// A secret is the key of the hashes of Accounts. It is saved with them, so that what
// was known of a hashed credential is found again.
type secret [32]byte

// credentialHashes computes hashes that stand for credentials and keys, which must not
// be kept themselves. The zero value is ready.
type credentialHashes struct {
	once   sync.Once
	secret secret
	seed   maphash.Seed

	mu    sync.RWMutex // protects the following
	names map[uint64]string
}

// use sets the secret if there is none yet, and reports whether it did.
func (p *credentialHashes) use(s secret) bool {
	first := false
	p.once.Do(func() {
		first, p.secret, p.seed = true, s, maphash.MakeSeed()
	})
	return first
}

// key returns the secret, and makes a random one if there is none yet.
func (p *credentialHashes) key() secret {
	p.once.Do(func() {
		rand.Read(p.secret[:])
		p.seed = maphash.MakeSeed()
	})
	return p.secret
}

// A digest is a keyed hash. It stands for what was hashed.
type digest [16]byte

// digest returns a keyed hash of the parts: the first half of HMAC-SHA-256. The length
// of each part is hashed, too, so that moving a byte from one part to the next changes
// the result. So does another purpose.
func (p *credentialHashes) digest(purpose string, parts ...string) digest {
	key := p.key()
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(purpose))
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return digest(h.Sum(nil)[:len(digest{})])
}

// of returns the digest of the parts, and remembers it.
func (p *credentialHashes) of(parts ...string) string {
	p.key()
	var h maphash.Hash
	h.SetSeed(p.seed)
	for _, part := range parts {
		maphash.WriteComparable(&h, len(part))
		h.WriteString(part)
	}
	n := h.Sum64()
	p.mu.RLock()
	name, ok := p.names[n]
	p.mu.RUnlock()
	if ok {
		return name
	}
	d := p.digest("pseudonym", parts...)
	name = string(d[:])
	p.mu.Lock()
	if p.names == nil || len(p.names) >= maxHashes {
		p.names = make(map[uint64]string)
	}
	p.names[n] = name
	p.mu.Unlock()
	return name
}

// CredentialHash returns 16 bytes that stand for the parts, of a credential for
// example, wherever these accounts are used. It is a keyed hash with a random key for
// each Accounts, which Save writes and Restore reads: equal parts have equal hashes,
// different parts practically never do, and without the key a hash says nothing about
// its parts.
func (a *Accounts) CredentialHash(parts ...string) string { return a.hashes().of(parts...) }
