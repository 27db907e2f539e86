package backup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/backup"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/test/wait"
)

// open creates a bucket with its production configuration.
func open(t *testing.T, conn *bus.Conn, name string) jetstream.Stream {
	t.Helper()
	s, err := bucket.Setup(t.Context(), conn.JetStream(), name, bucket.Replication{},
		func(c *jetstream.StreamConfig) {
			c.Description = "test of " + name
			c.AllowMsgTTL = name == bucket.Tags
		})
	bustest.Must(t, err)
	return s
}

func put(t *testing.T, conn *bus.Conn, key, value string) uint64 {
	t.Helper()
	ack, err := conn.JetStream().Publish(t.Context(), "$KV."+key, []byte(value))
	bustest.Must(t, err)
	return ack.Sequence
}

func putTag(t *testing.T, conn *bus.Conn, key, ttl string) {
	t.Helper()
	msg := nats.NewMsg("$KV.cairn_tags." + key)
	msg.Header.Set(jetstream.MsgTTLHeader, ttl)
	if _, err := conn.JetStream().PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, conn *bus.Conn, key string) {
	t.Helper()
	msg := nats.NewMsg("$KV." + key)
	msg.Header.Set("KV-Operation", "DEL")
	if _, err := conn.JetStream().PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

// held returns the messages of a bucket in the order of revisions, one line each.
func held(t *testing.T, conn *bus.Conn, name string) (lines []string, first, last uint64) {
	t.Helper()
	s := open(t, conn, name)
	info, err := s.Info(t.Context())
	bustest.Must(t, err)
	for n := max(1, info.State.FirstSeq); n <= info.State.LastSeq; n++ {
		msg, err := s.GetMsg(t.Context(), n)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		bustest.Must(t, err)
		lines = append(lines, strings.TrimSpace(msg.Subject+" "+msg.Header.Get("KV-Operation")+" "+string(msg.Data)))
	}
	return lines, info.State.FirstSeq, info.State.LastSeq
}

// filled starts a server with entries in all buckets.
func filled(t *testing.T) *bus.Conn {
	t.Helper()
	conn := bustest.Open(t)
	for _, name := range []string{"cairn_catalog", "cairn_quarantine", "cairn_keys", "cairn_tags", "cairn_embeddings"} {
		open(t, conn, name)
	}
	put(t, conn, "cairn_catalog.skill._global.a", `{"skill_id":"a"}`)
	put(t, conn, "cairn_catalog.skill._global.b", `{"n": 1.50, "text":"\u00e4<>", "n":1}`)
	put(t, conn, "cairn_catalog.skill._global.a", "{\n\"skill_id\": \"a\", \"again\": true\n}")
	put(t, conn, "cairn_catalog.skill.acme.gone", `{}`)
	remove(t, conn, "cairn_catalog.skill.acme.gone")
	refused := put(t, conn, "cairn_catalog.tool._global.x", "no JSON \xff")
	put(t, conn, "cairn_quarantine.x",
		fmt.Sprintf(`{"key":"tool._global.x","reason":"bad","revision":%d,"at":""}`, refused))
	put(t, conn, "cairn_quarantine.b", `{"key":"skill._global.b","reason":"was bad","revision":1,"at":""}`)
	put(t, conn, "cairn_keys.k", `{"id":"k","hash":"h"}`)
	putTag(t, conn, "t", "1h")
	putTag(t, conn, "expired", "1s")
	put(t, conn, "cairn_embeddings.e", "x")
	return conn
}

func saved(t *testing.T, conn *bus.Conn) []byte {
	t.Helper()
	var file bytes.Buffer
	var steps [][2]int
	s, err := backup.Save(t.Context(), conn, conn, &file, func(read, total int) {
		steps = append(steps, [2]int{read, total})
	})
	for i, step := range steps {
		if step[0] != i+1 || step[1] < step[0] || i == len(steps)-1 && step[0] != step[1] {
			t.Errorf("step %d of %d: progress %v", i, len(steps), step)
		}
	}
	bustest.Must(t, err)
	checked, err := backup.Check(bytes.NewReader(file.Bytes()))
	if diff := cmp.Diff(s.End, checked.End); err != nil || diff != "" {
		t.Fatalf("%v, -saved +checked:\n%s", err, diff)
	}
	return file.Bytes()
}

// restored restores the file to the server of conn.
func restored(t *testing.T, conn *bus.Conn, file []byte) (backup.Summary, error) {
	t.Helper()
	c, err := backup.Check(bytes.NewReader(file))
	if err == nil {
		err = c.Restore(t.Context(), conn, conn, 0)
	}
	return c.Summary, err
}

func TestRestore(t *testing.T) {
	t.Parallel()
	source := filled(t)
	file := saved(t, source)
	for _, made := range []bool{false, true} { // whether a worker has already created the buckets
		target := bustest.Open(t)
		if made {
			for _, name := range []string{"cairn_catalog", "cairn_quarantine", "cairn_keys"} {
				open(t, target, name)
			}
		}
		s, err := restored(t, target, file)
		bustest.Must(t, err)
		delete(s.Entries, "cairn_tags") // one or two
		want := map[string]int{"cairn_catalog": 4, "cairn_quarantine": 2, "cairn_keys": 1}
		if diff := cmp.Diff(want, s.Entries); diff != "" || s.Revision != 6 {
			t.Errorf("up to %d (-want +got):\n%s", s.Revision, diff)
		}
		for _, name := range []string{"cairn_catalog", "cairn_keys"} {
			want, _, _ := held(t, source, name)
			// no marker is restored
			want = slices.DeleteFunc(want, func(line string) bool { return strings.HasSuffix(line, " DEL") })
			if got, _, _ := held(t, target, name); !cmp.Equal(want, got) {
				t.Errorf("%s is %q; want %q", name, got, want)
			}
		}
		_, first, last := held(t, target, "cairn_catalog")
		if first != 7 || last != 9 {
			t.Errorf("the revisions are %d to %d; want 7 to 9, after those of the backup", first, last)
		}
		// A replaced record is no longer in quarantine; the other one has its new revision.
		if got, _, _ := held(t, target, "cairn_quarantine"); len(got) != 1 || !strings.Contains(got[0], `"revision":9`) {
			t.Errorf("quarantine is %q", got)
		}
		if got := lifetimes(t, target); len(got) != 1 || got["t"] < 50*time.Minute || got["t"] >= time.Hour {
			t.Errorf("tags live for %v, want one of less than an hour", got)
		}
	}
}

// lifetimes returns the TTL of each tag, except those that are about to expire.
func lifetimes(t *testing.T, conn *bus.Conn) map[string]time.Duration {
	t.Helper()
	list := map[string]time.Duration{}
	for _, key := range []string{"t", "expired"} {
		msg, err := open(t, conn, "cairn_tags").GetLastMsgForSubject(t.Context(), "$KV.cairn_tags."+key)
		if err != nil {
			continue
		}
		if ttl, _ := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader)); ttl > time.Second {
			list[key] = ttl
		}
	}
	return list
}

// Fences neither prevent a restore nor interfere with it.
func TestRestoreAmongFences(t *testing.T) {
	t.Parallel()
	source := filled(t)
	put(t, source, "cairn_catalog.=fence", "")
	file := saved(t, source)
	target := bustest.Open(t)
	open(t, target, "cairn_catalog")
	ctx, stop := context.WithCancel(t.Context())
	var fencing sync.WaitGroup
	put(t, target, "cairn_catalog.=fence", "")
	fencing.Go(func() {
		for ctx.Err() == nil {
			_, _ = target.JetStream().Publish(ctx, "$KV.cairn_catalog.=fence", nil) // fails at the end of ctx
		}
	})
	if _, err := restored(t, target, file); err != nil {
		t.Error(err)
	}
	stop()
	fencing.Wait()
}

// A bucket with any value prevents a restore.
func TestRestoreRejectsNonEmptyBucket(t *testing.T) {
	t.Parallel()
	file := saved(t, filled(t))
	for _, key := range []string{"cairn_catalog.skill._global.mine", "cairn_keys.mine", "cairn_quarantine.mine"} {
		target := bustest.Open(t)
		name, _, _ := strings.Cut(key, ".")
		open(t, target, name)
		put(t, target, key, "{}")
		if _, err := restored(t, target, file); !errors.Is(err, backup.ErrNotEmpty) {
			t.Errorf("%s: %v", key, err)
		}
		if got, _, last := held(t, target, name); len(got) != 1 || last != 1 {
			t.Errorf("%s: now it is %q", key, got)
		}
	}
}

// Under concurrent writes, a backup holds every write up to a revision and none after it.
func TestSaveIsAPrefix(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	open(t, conn, "cairn_catalog")
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	var mu sync.Mutex
	written := map[uint64][2]string{} // key and value, by revision
	for w := range 4 {
		writing.Go(func() {
			pace := time.NewTicker(40 * time.Millisecond) // Save needs a pause between writes
			defer pace.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				<-pace.C
				key, value := fmt.Sprintf("skill._global.k%d", n*(w+1)%50), fmt.Sprintf(`{"by":%d,"n":%d}`, w, n)
				ack, err := conn.JetStream().Publish(ctx, "$KV.cairn_catalog."+key, []byte(value))
				if err == nil {
					mu.Lock()
					written[ack.Sequence] = [2]string{key, value}
					mu.Unlock()
				}
			}
		})
	}
	var files [][]byte
	for range 3 {
		wait.Until(t, "entries are written", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(written) > 60*(len(files)+1)
		})
		files = append(files, saved(t, conn))
	}
	stop()
	writing.Wait()
	for _, file := range files {
		target := bustest.Open(t)
		s, err := restored(t, target, file)
		bustest.Must(t, err)
		want := map[string]string{}
		for n := uint64(1); n <= s.Revision; n++ {
			if w, ok := written[n]; ok { // the result of an interrupted write is unknown
				want["$KV.cairn_catalog."+w[0]] = w[1]
			}
		}
		lines, _, _ := held(t, target, "cairn_catalog")
		got := map[string]string{}
		for _, line := range lines {
			key, value, _ := strings.Cut(line, "  ")
			got[key] = value
		}
		if diff := cmp.Diff(want, got); diff != "" || s.Revision < 60 {
			t.Fatalf("up to revision %d (-want +got):\n%s", s.Revision, diff)
		}
	}
}

// Check rejects every flipped bit, truncation and appended byte.
func TestDamageIsRefused(t *testing.T) {
	t.Parallel()
	file := saved(t, filled(t))
	target := bustest.Open(t)
	refused := func(reason string, text []byte) {
		t.Helper()
		_, err := backup.Check(bytes.NewReader(text))
		if !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, backup.ErrForeign) && !errors.Is(err, backup.ErrLater) {
			t.Errorf("%s: %v", reason, err)
		}
	}
	for position := range file {
		refused(fmt.Sprint("cut after ", position), file[:position])
		for bit := range 8 {
			if position > 32 && position < len(file)-32 && bit != position%8 {
				continue // one bit of each byte, all bits at both ends
			}
			flipped := bytes.Clone(file)
			flipped[position] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, position), flipped)
		}
	}
	refused("one byte appended", append(bytes.Clone(file), 0))
	refused("twice", append(bytes.Clone(file), file...))
	if _, err := restored(t, target, file[:len(file)-9]); !errors.Is(err, backup.ErrDamaged) ||
		!strings.Contains(err.Error(), "truncated") {
		t.Errorf("%v", err)
	}
	if _, err := target.JetStream().Stream(t.Context(), "KV_cairn_catalog"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("a damaged backup changed the cluster: %v", err)
	}
}

// A file that changes between Check and Restore is rejected.
func TestChangeAfterTheCheckIsRefused(t *testing.T) {
	t.Parallel()
	source := filled(t)
	name := filepath.Join(t.TempDir(), "backup")
	write := func(text []byte) {
		t.Helper()
		bustest.Must(t, os.WriteFile(name, text, 0o600))
	}
	write(saved(t, source))
	f, err := os.Open(name)
	bustest.Must(t, err)
	defer func() { _ = f.Close() }()
	checked, err := backup.Check(f)
	bustest.Must(t, err)
	put(t, source, "cairn_keys.another", `{"id":"another"}`)
	write(saved(t, source))
	if err := checked.Restore(t.Context(), bustest.Open(t), bustest.Open(t), 0); !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	bustest.Must(t, w.Close())
	return b.Bytes()
}

func TestForeignAndLaterFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		file    []byte
		want    error
		message string
	}{
		{"nothing", nil, backup.ErrForeign, "not a backup of Cairn"},
		{"a text", []byte("hello\n"), backup.ErrForeign, "not a backup of Cairn"},
		{"another gzip", zipped(t, "hello\n"), backup.ErrForeign, "not a backup of Cairn"},
		{"another JSON", zipped(t, `{"version":1}`+"\n"), backup.ErrForeign, "not a backup of Cairn"},
		{"a backup of a later format", zipped(t, `{"cairn_backup":3,"cairn":"9.1.0","secrets":[]}`+"\nand more"),
			backup.ErrLater,
			"written by a newer version, 9.1.0, in format 3; this version reads formats up to 2"},
		{"a backup of an unknown bucket", zipped(t, `{"cairn_backup":1,"buckets":[{"name":"other"}]}`+"\n"),
			backup.ErrDamaged,
			`unknown bucket "other"`},
		{"without an end", zipped(t, `{"cairn_backup":1}`+"\n"), backup.ErrDamaged, "truncated"},
	} {
		if _, err := backup.Check(bytes.NewReader(row.file)); !errors.Is(err, row.want) ||
			!strings.Contains(err.Error(), row.message) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// Save and Restore require a catalog.
func TestMissingCatalog(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	open(t, conn, "cairn_keys")
	if _, err := backup.Save(t.Context(), conn, conn, io.Discard, nil); !errors.Is(err, backup.ErrNothing) ||
		!strings.Contains(err.Error(), "KV_cairn_catalog") {
		t.Errorf("save: %v", err)
	}
	file := backup.Sealed([]byte(`{"cairn_backup":1,"buckets":[{"name":"cairn_keys","config":{}}]}` + "\n"))
	if _, err := backup.Check(bytes.NewReader(file)); !errors.Is(err, backup.ErrNothing) {
		t.Errorf("check: %v", err)
	}
}

// The format is gzip with a JSON value on each line.
func TestFormat(t *testing.T) {
	t.Parallel()
	zip, err := gzip.NewReader(bytes.NewReader(saved(t, filled(t))))
	bustest.Must(t, err)
	text, err := io.ReadAll(zip)
	bustest.Must(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	want := []string{
		`{"bucket":"cairn_catalog","key":"skill._global.b","revision":2,"value":{"n": 1.50, "text":"\u00e4<>", "n":1}}`,
		`{"bucket":"cairn_catalog","key":"skill._global.a","revision":3,"base64":"` +
			`ewoic2tpbGxfaWQiOiAiYSIsICJhZ2FpbiI6IHRydWUKfQ=="}`,
		`{"bucket":"cairn_catalog","key":"skill.acme.gone","revision":5,"removed":true}`,
	}
	if diff := cmp.Diff(want, lines[1:4]); diff != "" ||
		!strings.HasPrefix(lines[0], `{"cairn_backup":`+strconv.Itoa(backup.Version)+`,`) {
		t.Errorf("%s (-want +got):\n%s", lines[0], diff)
	}
}
