package security

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// A process exits after its drain deadline, even with requests in flight, and logs it.
func TestDrainDeadline(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		body string
	}{
		{"an analysis with a client", `{"query":"q","target":"H","context":"{\"hosts\":[{\"name\":\"a\"}]}"}`},
		{"an analysis without a client",
			`{"query":"q","target":"H","context":"{\"hosts\":[{\"name\":\"a\"}]}","on_disconnect":"continue"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			model := cairntest.NewSlowModel(t, "")
			p := cairntest.Up(t, "--model", model.URL, "--drain", "1s")
			var running sync.WaitGroup
			running.Go(func() {
				res, err := http.Post(p.URL()+"/api/v1/analyze", "application/json", strings.NewReader(row.body))
				if err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			})
			t.Cleanup(running.Wait)
			wait.Until(t, "the model answers", func() bool { return model.Waiting() > 0 })
			must(t, p.Cmd.Process.Signal(syscall.SIGTERM))
			select {
			case <-p.Exited():
			case <-time.After(15 * time.Second): // 3 s are guaranteed
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

// fillPipe writes to a pipe until it is full, so that its next writer blocks.
func fillPipe(t *testing.T, pipe *os.File) {
	t.Helper()
	raw, err := pipe.SyscallConn()
	must(t, err)
	err = raw.Control(func(fd uintptr) {
		// The mode is shared with the process, which expects a pipe that blocks.
		if err = syscall.SetNonblock(int(fd), true); err != nil {
			return
		}
		defer func() { err = errors.Join(err, syscall.SetNonblock(int(fd), false)) }()
		for chunk := bytes.Repeat([]byte("x"), 4096); len(chunk) > 0; chunk = chunk[len(chunk)/2+len(chunk)%2:] {
			for err == nil {
				_, err = syscall.Write(int(fd), chunk)
			}
			if !errors.Is(err, syscall.EAGAIN) {
				return
			}
			err = nil
		}
	})
	must(t, err)
}

// TestDrainDeadlineIgnoringContext checks that a process exits after its drain deadline even if its
// shutdown blocks on output, which no context cancels.
func TestDrainDeadlineIgnoringContext(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		stderr bool // is blocked too
		log    string
	}{
		{"nobody reads its stdout", false, "drain deadline exceeded"},
		{"nobody reads its stdout and its stderr", true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cmd := cairntest.Command(cairntest.Program(t), nil, "up", "--http", "127.0.0.1:0", "--nats-listen", "", "--data", "",
				"--model", "offline:", "--drain", "100ms", "--log-level", "debug")
			var pipes [2]struct{ read, write *os.File }
			for i := range pipes {
				var err error
				if pipes[i].read, pipes[i].write, err = os.Pipe(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = pipes[i].read.Close() })
			}
			out, errs := pipes[0], pipes[1]
			cmd.Stdout, cmd.Stderr = out.write, errs.write
			must(t, cmd.Start())
			exited := make(chan error, 1)
			go func() { exited <- cmd.Wait() }()
			t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails if it has exited
			lines := bufio.NewScanner(out.read)
			for lines.Scan() && !strings.Contains(lines.Text(), "Press Ctrl-C") { // the end of the report
			}
			must(t, lines.Err())
			fillPipe(t, out.write)
			_ = out.write.Close()
			if row.stderr {
				fillPipe(t, errs.write)
			}
			_ = errs.write.Close()
			must(t, cmd.Process.Signal(syscall.SIGTERM))
			var err error
			select {
			case err = <-exited:
			case <-time.After(wait.Timeout):
				t.Fatal("the process still runs after its drain deadline")
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 124 {
				t.Errorf("the process ended with %v, want exit code 124", err)
			}
			if log, err := io.ReadAll(errs.read); err != nil || !strings.Contains(string(log), row.log) {
				t.Errorf("the log is %q, %v, want %q in it", log, err, row.log)
			}
		})
	}
}
