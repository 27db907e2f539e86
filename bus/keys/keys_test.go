package keys_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/keys"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, conn *bus.Conn) *keys.Store {
	t.Helper()
	bustest.Must(t, keys.Setup(t.Context(), conn, bucket.Replication{}))
	bustest.Must(t, audit.Setup(t.Context(), conn.JetStream(), bucket.Replication{}, 0))
	store, err := keys.Open(t.Context(), conn)
	bustest.Must(t, err)
	return store
}

func create(t testing.TB, s *keys.Store, k keys.Key) (keys.Key, string) {
	t.Helper()
	made, secret, err := s.Create(t.Context(), k)
	bustest.Must(t, err)
	return made, secret
}

// TestKeysAreAudited checks the entries of keys: one for each change.
func TestKeysAreAudited(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	s := open(t, conn)
	ctx := bus.WithOrigin(t.Context(), schemas.Origin{Author: schemas.Author{Message: "the importer"}, Route: "cairn key"})
	k, _, err := s.Create(ctx, keys.Key{Role: schemas.RoleReader, Tenants: []string{"acme"}})
	bustest.Must(t, err)
	all, _ := create(t, s, keys.Key{Role: schemas.RoleAdmin})
	two, _ := create(t, s, keys.Key{Role: schemas.RoleReader, Tenants: []string{"acme", "globex"}})
	for range 2 { // the second time it is revoked
		bustest.Must(t, s.Revoke(ctx, k.ID))
	}
	log, err := audit.Open(t.Context(), conn.JetStream())
	bustest.Must(t, err)
	page, err := log.Page(t.Context(), schemas.AuditQuery{Kind: schemas.KindKey})
	var got []string
	for _, e := range page.Entries {
		got = append(got, strings.Join([]string{e.Action, e.ID, e.TenantID, e.Message, e.Route}, " "))
	}
	want := []string{"revoke_key " + k.ID + " acme the importer cairn key", "create_key " + two.ID + " globex  ",
		"create_key " + two.ID + " acme  ", "create_key " + all.ID + "   ",
		"create_key " + k.ID + " acme the importer cairn key"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

// TestRevokeWithoutAuditLog revokes a key of a server that has lost the stream of the log, as a leaked one must be. No
// key is created there.
func TestRevokeWithoutAuditLog(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	s := open(t, conn)
	k, _ := create(t, s, keys.Key{Role: schemas.RoleReader, Tenants: []string{"acme"}})
	bustest.Must(t, conn.JetStream().DeleteStream(t.Context(), audit.Stream))
	err := s.Revoke(t.Context(), k.ID)
	if !errors.Is(err, keys.ErrNotAudited) || !errors.Is(err, bucket.ErrNoStream) {
		t.Errorf("got %v, want %v and %v", err, keys.ErrNotAudited, bucket.ErrNoStream)
	}
	if _, _, err := s.Create(t.Context(), keys.Key{Role: schemas.RoleReader}); !errors.Is(err, bucket.ErrNoStream) {
		t.Errorf("create: got %v, want %v", err, bucket.ErrNoStream)
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 || list[0].State(time.Now()) != keys.StateRevoked {
		t.Errorf("got %+v, %v, want one revoked key", list, err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	ring := keys.NewRing(conn, slog.New(slog.DiscardHandler))
	if _, err := ring.Identify(t.Context(), "cairn_a_b"); !errors.Is(err, keys.ErrUnknown) {
		t.Errorf("before any key exists: %v, want %v", err, keys.ErrUnknown)
	}
	s := open(t, conn)
	made, secret := create(t, s, keys.Key{Role: schemas.RoleReader, Tenants: []string{"acme"}})
	otherKey, _ := create(t, s, keys.Key{Role: schemas.RoleAdmin, Expires: time.Now().Add(time.Hour)})
	caller, err := ring.Identify(t.Context(), secret)
	if err != nil || caller.ID != made.ID || caller.Role != schemas.RoleReader || len(caller.Tenants) != 1 {
		t.Fatalf("got %+v, %v", caller, err)
	}
	_, mine, _ := strings.Cut(secret, made.ID)
	for _, wrong := range []string{secret + "x", secret[:len(secret)-1], "cairn_" + made.ID + "_",
		"cairn_" + otherKey.ID + mine, made.Hash,
		strings.TrimPrefix(secret, "cairn_")} {
		if _, err := ring.Identify(t.Context(), wrong); !errors.Is(err, keys.ErrUnknown) {
			t.Errorf("%s: %v, want %v", wrong, err, keys.ErrUnknown)
		}
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("the list is %v, %v", list, err)
	}
	for _, k := range list {
		if strings.Contains(secret, k.Hash) || k.State(time.Now()) != keys.StateActive ||
			k.State(time.Now().Add(2*time.Hour)) == keys.StateActive != k.Expires.IsZero() {
			t.Errorf("a key is %+v", k)
		}
	}
	bustest.Must(t, errors.Join(s.Revoke(t.Context(), made.ID), s.Revoke(t.Context(), made.ID),
		ring.Refresh(t.Context())))
	if _, err := ring.Identify(t.Context(), secret); !errors.Is(err, keys.ErrUnknown) ||
		!strings.Contains(err.Error(), "revoked") {
		t.Errorf("a revoked key: %v", err)
	}
	for _, id := range []string{"nobody", "a b", "", ">"} {
		if err := s.Revoke(t.Context(), id); !errors.Is(err, keys.ErrNotFound) {
			t.Errorf("revoke %q: %v, want %v", id, err, keys.ErrNotFound)
		}
	}
}

// TestInvalidKeyRecordsAreIgnored stores records that no operator created: each is
// logged once and authenticates no caller.
func TestInvalidKeyRecordsAreIgnored(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	made, secret := create(t, open(t, conn), keys.Key{Role: schemas.RoleReader})
	for _, c := range []struct {
		name   string
		change func(*keys.Key)
		valid  bool
	}{
		{"a record as it was created", func(*keys.Key) {}, true},
		{"a tenant is valid", func(k *keys.Key) { k.Tenants = []string{"acme"} }, true},
		{"the id is missing", func(k *keys.Key) { k.ID = "" }, false},
		{"the id is that of another key", func(k *keys.Key) { k.ID = "other" }, false},
		{"the hash is missing", func(k *keys.Key) { k.Hash = "" }, false},
		{"the hash is short", func(k *keys.Key) { k.Hash = k.Hash[:62] }, false},
		{"the hash is long", func(k *keys.Key) { k.Hash += "00" }, false},
		{"the hash ends with a letter that is not a hexadecimal digit", func(k *keys.Key) { k.Hash += "x" }, false},
		{"the hash ends with a line break", func(k *keys.Key) { k.Hash += "\n" }, false},
		{"the hash has upper-case digits", func(k *keys.Key) { k.Hash = strings.ToUpper(k.Hash) }, false},
		{"the role is missing", func(k *keys.Key) { k.Role = "" }, false},
		{"the role is unknown", func(k *keys.Key) { k.Role = "king" }, false},
		{"a tenant is empty", func(k *keys.Key) { k.Tenants = []string{""} }, false},
		{"a tenant is reserved", func(k *keys.Key) { k.Tenants = []string{"acme", "_global"} }, false},
	} {
		record := made
		c.change(&record)
		value, err := json.Marshal(record)
		bustest.Must(t, err)
		if _, err := conn.JetStream().Publish(t.Context(), "$KV.cairn_keys."+made.ID, value); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		ring := keys.NewRing(conn, slog.New(slog.NewTextHandler(&log, nil)))
		_, err = ring.Identify(t.Context(), secret)
		if valid := err == nil; valid != c.valid || err != nil && !errors.Is(err, keys.ErrUnknown) {
			t.Errorf("%s: got %v, want valid %v", c.name, err, c.valid)
		}
		if lines := strings.Count(log.String(), "invalid key record ignored"); c.valid && lines != 0 ||
			!c.valid && lines != 1 {
			t.Errorf("%s: got %d lines in the log, want one for an invalid record:\n%s", c.name, lines, log.String())
		}
	}
}

// A record under a subject with several tokens is not a key, with any content.
func TestKeyRecordOfAnotherSubject(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	made, secret := create(t, open(t, conn), keys.Key{Role: schemas.RoleAdmin})
	value, err := json.Marshal(made)
	bustest.Must(t, err)
	_, hidden, _ := strings.Cut(secret, made.ID+"_")
	for _, id := range []string{"a." + made.ID, made.ID + ".a", "a=b"} {
		if _, err := conn.JetStream().Publish(t.Context(), "$KV.cairn_keys."+id, value); err != nil {
			t.Fatal(err)
		}
		ring := keys.NewRing(conn, slog.New(slog.DiscardHandler))
		if caller, err := ring.Identify(t.Context(), "cairn_"+id+"_"+hidden); !errors.Is(err, keys.ErrUnknown) {
			t.Errorf("%s: got %+v, %v, want %v", id, caller, err, keys.ErrUnknown)
		}
	}
}

// The ring keeps its keys while NATS is unavailable, and drops those of a deleted bucket.
func TestRingBucketUnavailable(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	s := open(t, conn)
	_, secret := create(t, s, keys.Key{Role: schemas.RoleReader})
	edge := bustest.Dial(t, server)
	ring, late := keys.NewRing(edge, slog.New(slog.DiscardHandler)), keys.NewRing(edge, slog.New(slog.DiscardHandler))
	bustest.Must(t, ring.Refresh(t.Context()))
	bustest.Must(t, conn.JetStream().DeleteKeyValue(t.Context(), bucket.Keys))
	if _, err := ring.Identify(t.Context(), secret); err != nil {
		t.Errorf("before the first poll: %v", err)
	}
	bustest.Must(t, ring.Refresh(t.Context()))
	if _, err := ring.Identify(t.Context(), secret); !errors.Is(err, keys.ErrUnknown) {
		t.Errorf("of a deleted bucket: %v, want %v", err, keys.ErrUnknown)
	}
	_, secret = create(t, open(t, conn), keys.Key{Role: schemas.RoleReader})
	if _, err := ring.Identify(t.Context(), secret); err != nil {
		t.Errorf("of a recreated bucket: %v", err)
	}
	server.Stop()
	if _, err := ring.Identify(t.Context(), secret); err != nil {
		t.Errorf("while NATS is unavailable: %v", err)
	}
	if _, err := late.Identify(t.Context(), secret); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("by an empty ring: %v, want %v", err, schemas.ErrUnavailable)
	}
}

// TestBucketRollback replaces the bucket by an older copy: the keys that it lacks are not
// accepted, and new ones and revocations have an effect.
func TestBucketRollback(t *testing.T) {
	t.Parallel()
	for _, later := range []int{0, 1, 2, 5} { // the copy lacks two changes
		t.Run(fmt.Sprint(later, " changes after it"), func(t *testing.T) {
			t.Parallel()
			dir, older, address := t.TempDir(), t.TempDir(), bustest.FreeAddress(t)
			var server *natsserver.Server
			start := func(dir string) {
				t.Helper()
				if server != nil {
					server.Stop()
				}
				var err error
				if server, err = natsserver.Start(dir, address); err != nil {
					t.Fatal(err)
				}
			}
			start(dir)
			t.Cleanup(func() { server.Stop() })
			conn := bustest.DialURL(t, "nats://"+address)
			s := open(t, conn)
			kept, secret := create(t, s, keys.Key{Role: schemas.RoleReader})
			server.Stop()
			bustest.Must(t, os.CopyFS(older, os.DirFS(dir)))
			start(dir)
			ring := keys.NewRing(conn, slog.New(slog.DiscardHandler))
			s = open(t, conn)
			_, lost := create(t, s, keys.Key{Role: schemas.RoleAdmin})
			create(t, s, keys.Key{Role: schemas.RoleAdmin})
			if _, err := ring.Identify(t.Context(), lost); err != nil {
				t.Fatal(err)
			}
			start(older)
			s = open(t, conn)
			var newer string
			for range later {
				_, newer = create(t, s, keys.Key{Role: schemas.RoleReader})
			}
			wait.Success(t, func() error {
				err := ring.Refresh(t.Context())
				if _, failure := ring.Identify(t.Context(), lost); !errors.Is(failure, keys.ErrUnknown) {
					return errors.Join(errors.New("a key that the bucket lacks is accepted"), failure, err)
				}
				return err
			})
			for _, valid := range []string{secret, newer} {
				if _, err := ring.Identify(t.Context(), valid); err != nil && valid != "" {
					t.Errorf("a key of the bucket: %v", err)
				}
			}
			bustest.Must(t, errors.Join(s.Revoke(t.Context(), kept.ID), ring.Refresh(t.Context())))
			if _, err := ring.Identify(t.Context(), secret); !errors.Is(err, keys.ErrUnknown) {
				t.Errorf("a revoked key: %v, want %v", err, keys.ErrUnknown)
			}
		})
	}
}

// A ring whose read times out resumes it with the next one.
func TestRingHighLatency(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	s := open(t, bustest.Dial(t, server))
	var last string
	for range 100 {
		_, last = create(t, s, keys.Key{Role: schemas.RoleReader})
	}
	far := bustest.DialURL(t, distant(t, server.URL(), 40*time.Millisecond))
	ring := keys.NewRing(far, slog.New(slog.DiscardHandler))
	if err := ring.Refresh(t.Context()); err == nil {
		t.Fatal("one read sufficed; the test proves nothing")
	}
	wait.Success(t, func() error { return ring.Refresh(t.Context()) }) // the second read, on a fast machine
	if _, err := ring.Identify(t.Context(), last); err != nil {
		t.Errorf("the newest key: %v", err)
	}
}

// distant returns the address of a proxy that delays each response of the server.
func distant(t *testing.T, url string, late time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	bustest.Must(t, err)
	var relays sync.WaitGroup
	t.Cleanup(relays.Wait)
	t.Cleanup(func() { _ = l.Close() })
	relays.Go(func() {
		for near, err := l.Accept(); err == nil; near, err = l.Accept() {
			there, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
			if err != nil {
				_ = near.Close()
				continue
			}
			relays.Go(func() { _, _ = io.Copy(there, near); _ = there.Close() })
			relays.Go(func() { _, _ = io.Copy(lateWriter{near, late}, there); _ = near.Close() })
		}
	})
	return "nats://" + l.Addr().String()
}

type lateWriter struct {
	io.Writer
	late time.Duration
}

// Write implements io.Writer.
func (w lateWriter) Write(p []byte) (int, error) {
	<-time.After(w.late)
	return w.Writer.Write(p)
}
