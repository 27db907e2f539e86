package security

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// hangingModel is an OpenAI-compatible server that never answers a chat; asked
// receives once for each.
func hangingModel(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	requests := make(chan struct{}, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		requests <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return "openai" + strings.TrimPrefix(server.URL, "http") + "/m", requests
}

// A process exits after its drain deadline, even with requests in flight, and logs it.
func TestDrainDeadline(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		body string
	}{
		{"an analysis with a client", `{"query":"q","target":"H","context":"{}"}`},
		{"an analysis without a client", `{"query":"q","target":"H","context":"{}","on_disconnect":"continue"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			model, asked := hangingModel(t)
			p := cairntest.Up(t, "--model", model, "--drain", "1s")
			var asking sync.WaitGroup
			asking.Go(func() {
				res, err := http.Post(p.URL()+"/api/v1/analyze", "application/json", strings.NewReader(row.body))
				if err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			})
			t.Cleanup(asking.Wait)
			select {
			case <-asked:
			case <-time.After(30 * time.Second):
				t.Fatalf("the model is not asked\n%s", p.Stderr)
			}
			if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case <-p.Exited():
			case <-time.After(15 * time.Second): // 3 s are promised
				t.Fatal("the process still runs 15 s after SIGTERM, with --drain 1s")
			}
			err := p.Stop()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 124 {
				t.Errorf("the process ended with %v, want exit code 124", err)
			}
			if log := p.Stderr.String(); !strings.Contains(log, "drain timed out") {
				t.Errorf("the log has no drain timeout:\n%s", log)
			}
			p.Kill() // the exit code is expected; the cleanup must not report it
		})
	}
}
