package security

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// TestAcknowledgedTagsSurviveKill kills the process with SIGKILL in the middle
// of concurrent writes. Every acknowledged tag is found after a restart.
func TestAcknowledgedTagsSurviveKill(t *testing.T) {
	t.Parallel()
	const writers, kills, perKill = 16, 3, 300
	data := filepath.Join(t.TempDir(), "data")
	var mu sync.Mutex
	var acknowledged []string
	for round := range kills {
		process := cairntest.Up(t, "--data", data)
		enough := make(chan struct{})
		var writing sync.WaitGroup
		var count int
		for writer := range writers {
			writing.Go(func() {
				for n := 0; ; n++ {
					id := fmt.Sprintf("kill-%d-%d-%d", round, writer, n)
					if writeTag(process.URL(), id) != http.StatusCreated {
						return // killed
					}
					mu.Lock()
					acknowledged = append(acknowledged, id)
					if count++; count == perKill {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		select {
		case <-enough:
		case <-time.After(time.Minute):
			t.Errorf("fewer than %d tags were written in a minute", perKill)
		}
		process.Kill()
		writing.Wait()
	}
	process := cairntest.Up(t, "--data", data)
	lost := 0
	for _, id := range acknowledged {
		if status, _ := get(t, process.URL()+"/tags/"+id, ""); status != http.StatusOK {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged tags are lost", lost, len(acknowledged))
	}
}

// writeTag returns the status; 0: no answer.
func writeTag(url, id string) int {
	res, err := http.Post(url+"/tags/write", "application/json", strings.NewReader(`{"request_id":"`+id+`","flow":"f","tags":{"n":1}}`))
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}
