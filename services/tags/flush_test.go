package tags_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/services/tags"
)

// TestAcknowledgedTagIsFlushed reads the server's files right after an
// acknowledgement: their content survives a crash of the server.
func TestAcknowledgedTagIsFlushed(t *testing.T) {
	t.Parallel()
	for _, settings := range []tags.Settings{{}, {Sync: true}} {
		t.Run(fmt.Sprintf("sync=%v", settings.Sync), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server, err := natsserver.Start(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			for range 2 {
				serveWith(t, bustest.Dial(t, server), settings, tags.DefaultTTL)
			}
			c := client{t, bustest.Dial(t, server)}
			var writers sync.WaitGroup
			for writer := range 8 {
				writers.Go(func() {
					for n := range 25 {
						id := fmt.Sprintf("written-%d-%d", writer, n)
						if err := c.write(id, "one"); err != nil {
							t.Error(err)
							return
						}
						if !inFiles(t, dir, `"`+id+`"`) {
							t.Errorf("%s is acknowledged but not in the files", id)
						}
					}
				})
			}
			writers.Wait()
		})
	}
}

// inFiles reports whether a file of the bucket contains the text.
func inFiles(t *testing.T, dir, text string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "KV_cairn_tags", "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Errorf("no files of the bucket in %s: %v", dir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}
