package natsserver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/test/wait"
)

// TestNodeWithFullDisk fills the disk of one of three nodes, whose server then disables JetStream. The others store
// messages meanwhile; the node reports its disk, not the cluster, and its restart when the disk has space again.
func TestNodeWithFullDisk(t *testing.T) {
	t.Parallel()
	disk := bustest.MountDisk(t)
	ports := []string{bustest.FreeAddress(t), bustest.FreeAddress(t), bustest.FreeAddress(t)}
	recovered := make(chan struct{})
	var nodes []*natsserver.Server
	for i, dir := range []string{t.TempDir(), t.TempDir(), filepath.Join(disk, "data")} {
		node, err := natsserver.StartNode(dir, "127.0.0.1:0", natsserver.Cluster{Name: "c", Listen: ports[i], Routes: ports},
			natsserver.WithRecovery(func() { close(recovered) }))
		bustest.Must(t, err)
		t.Cleanup(node.Stop)
		nodes = append(nodes, node)
	}
	js := bustest.Dial(t, nodes[0]).JetStream()
	bustest.Until(t, "set up a bucket", func(ctx context.Context) error {
		_, err := bucket.Setup(ctx, js, "b", bucket.Replication{Replicas: 3}, func(*jetstream.StreamConfig) {})
		return err
	})
	wait.Until(t, "the cluster is complete", func() bool { problem, _ := nodes[2].Problem(); return problem == "" })

	filler := filepath.Join(disk, "filler")
	file, err := os.Create(filler)
	for block := make([]byte, 4<<10); err == nil; {
		_, err = file.Write(block)
	}
	bustest.Must(t, file.Close())
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	const want = "the NATS server has disabled JetStream"
	bustest.Until(t, "the node reports its disk", func(ctx context.Context) error {
		if _, err := js.Publish(ctx, bucket.SubjectPrefix+"b.k", make([]byte, 64<<10)); err != nil {
			return err
		}
		if problem, quorum := nodes[2].Problem(); !quorum || !strings.HasPrefix(problem, want) {
			return errors.New(problem)
		}
		return nil
	})
	bustest.Must(t, os.Remove(filler))
	<-recovered
}

// TestStreamsAreChangedOnASmallerDisk reserves the whole storage for a stream, and changes the stream after another
// program has filled half of the disk.
func TestStreamsAreChangedOnASmallerDisk(t *testing.T) {
	t.Parallel()
	disk := bustest.MountDisk(t)
	before := reserve(t, filepath.Join(disk, "data"))
	bustest.Must(t, os.WriteFile(filepath.Join(disk, "other"), make([]byte, 32<<20), 0o600))
	if after := reserve(t, filepath.Join(disk, "data")); after <= 0 || after > before*3/4 {
		t.Errorf("the storage limit was %d bytes, and is %d on half of the disk", before, after)
	}
}

// reserve starts a server in dir, gives its storage to a stream, and returns the limit.
func reserve(t *testing.T, dir string) int64 {
	t.Helper()
	s, err := natsserver.Start(dir, "")
	bustest.Must(t, err)
	defer s.Stop()
	conn, err := s.Open("test")
	bustest.Must(t, err)
	defer conn.Close()
	if _, err := conn.JetStream().CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{
		Name: "s", MaxBytes: s.StorageLimit(),
	}); err != nil {
		t.Fatal(err)
	}
	return s.StorageLimit()
}
