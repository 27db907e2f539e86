package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

// asCairn is the environment variable that makes the test binary run the program.
const asCairn = "CAIRN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asCairn) != "" {
		main()
	}
	if err := flag.Set("test.parallel", "4"); err != nil { // by default; the tests mostly wait
		panic(err)
	}
	code := m.Run()
	stopShared()
	os.Exit(code)
}

// noContexts is the path of a contexts file that does not exist, so that tests do not use the
// contexts of the user.
const noContexts = "/nonexistent/contexts.json"

// program returns a command that runs cairn with args, without the environment of
// this process.
func program(args ...string) *exec.Cmd {
	return cairntest.Command(os.Args[0], []string{
		asCairn + "=1", flags.ContextsVariable + "=" + noContexts, "OLLAMA_HOST=127.0.0.1:1",
	}, args...)
}

// result contains the output and the exit code of a program.
type result struct {
	out, err string
	code     int
}

// must ends the test unless the program succeeded.
func (r result) must(t *testing.T) result {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	return r
}

// step is a command with its exit code and a part of its output; an empty one: no output.
type step struct {
	name    string
	args    []string
	code    int
	message string
}

// check runs the command with further arguments.
func (s step) check(t *testing.T, args ...string) {
	t.Helper()
	got := do(t, "", slices.Concat(s.args, args)...)
	if got.code != s.code || !strings.Contains(got.out+got.err, s.message) || s.message == "" && got.out+got.err != "" {
		t.Errorf("%s: %+v; want exit %d and %q", s.name, got, s.code, s.message)
	}
}

// refusal is a command with wrong flags, arguments or input, and a part of the error.
type refusal struct {
	name    string
	args    []string
	message string
}

// refuse checks that the commands fail before they print anything.
func refuse(t *testing.T, rows []refusal, command ...string) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "", slices.Concat(command, row.args)...)
			if got.code != exitUsage || got.out != "" || !strings.Contains(got.err, row.message) {
				t.Errorf("%+v; want exit %d and %q", got, exitUsage, row.message)
			}
		})
	}
}

// do runs cairn with args and stdin in this process.
func do(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return doWith(t, map[string]string{flags.ContextsVariable: noContexts}, stdin, args...)
}

// running is a started cairn process.
type running struct {
	*cairntest.Process
	http string // URL of the HTTP server; empty: none
}

// output returns what the process has printed.
func (p *running) output() string { return p.Stdout.String() + p.Stderr.String() }

// begin starts cmd and kills it at the end of the test.
func begin(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	p := &running{Process: cairntest.Launch(cmd)}
	t.Cleanup(p.Kill)
	return p
}

// serve starts cairn with args and returns when it has printed its address.
func serve(t *testing.T, args ...string) *running {
	t.Helper()
	p := begin(t, program(args...))
	p.waitForOutput(t, "Press Ctrl-C to shut down.")
	p.http = p.URL()
	return p
}

// startIsolated starts cairn up with settings that do not interfere with other tests.
func startIsolated(t *testing.T, args ...string) *running {
	t.Helper()
	return serve(t, append([]string{"up", "--http", "127.0.0.1:0", "--nats-listen", "", "--data", ""}, args...)...)
}

// reached is startIsolated with a NATS listener, whose URL it returns.
func reached(t *testing.T, args ...string) (p *running, nats string) {
	t.Helper()
	p = startIsolated(t, append([]string{"--nats-listen", "127.0.0.1:0", "--model", "offline:"}, args...)...)
	return p, p.NATS()
}

// createKey returns a new key.
func createKey(t *testing.T, nats string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(do(t, "", append([]string{"key", "create", "--nats", nats}, args...)...).must(t).out)
}

// waitForOutput waits until the process has printed text.
func (p *running) waitForOutput(t *testing.T, text string) {
	t.Helper()
	wait.Success(t, func() error {
		ended := false
		select {
		case <-p.Exited():
			ended = true
		default:
		}
		out := p.output()
		if strings.Contains(out, text) {
			return nil
		}
		if ended {
			t.Fatalf("exited before it printed %q:\n%s", text, out)
		}
		return fmt.Errorf("no %q in\n%s", text, out)
	})
}

// waitExit waits for the process and returns its exit code, or -1 after a signal.
func (p *running) waitExit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.Exited():
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(wait.Timeout):
		t.Fatalf("did not exit:\n%s", p.output())
		return 0
	}
}

func (p *running) signal(t *testing.T) {
	t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// buffer collects output. It may be used concurrently.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestInterruptReportsOtherErrors checks what an interrupted command prints.
func TestInterruptReportsOtherErrors(t *testing.T) {
	t.Parallel()
	left := errors.New("3 records could not be removed")
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"the interrupt alone", context.Canceled, ""},
		{"a request that the interrupt ends", fmt.Errorf("get: %w", context.Canceled), ""},
		{"a class of errors that is the interrupt", fmt.Errorf("%w: %w", errors.New("lost stream"), context.Canceled), ""},
		{"a printed error", errors.Join(output.Reported(context.Canceled)), ""},
		{"a failed removal after it", errors.Join(errors.Join(fmt.Errorf("get: %w", context.Canceled), left)),
			"cairn: " + left.Error() + "\n"},
		{"two other errors", errors.Join(context.Canceled, context.Canceled, left, left),
			strings.Repeat("cairn: "+left.Error()+"\n", 2)},
		{"where the text is", fmt.Errorf("%w; %w", context.Canceled, left), "cairn: " + left.Error() + "\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var errOut bytes.Buffer
			cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
				cancel()
				return row.err
			}}
			cmd.SetArgs(nil)
			cmd.SetErr(&errOut)
			if code := run(ctx, cmd); code != exitInterrupted || errOut.String() != row.want {
				t.Errorf("exit code %d, %q; want %d, %q", code, errOut.String(), exitInterrupted, row.want)
			}
		})
	}
}

// brokenWriter fails.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputErrors checks that a command reports that its output was not written.
func TestOutputErrors(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json", "yaml"} {
		var errOut bytes.Buffer
		cmd := newRoot(func(string) string { return "" })
		cmd.SetArgs([]string{"version", "-o", format})
		cmd.SetOut(brokenWriter{})
		cmd.SetErr(&errOut)
		if code := run(t.Context(), cmd); code != exitFailed || errOut.String() != "cairn: no space left on device\n" {
			t.Errorf("%s: exit code %d, %q", format, code, errOut.String())
		}
	}
}

// TestSecretsHaveFiles checks that every flag with a name that denotes a secret
// can be given as a file.
func TestSecretsHaveFiles(t *testing.T) {
	t.Parallel()
	for _, cmd := range below(newRoot(func(string) string { return "" })) {
		for _, name := range []string{"nats-secret", "cluster-secret", "key", "nats"} {
			if cmd.Flags().Lookup(name) != nil && cmd.Flags().Lookup(name+"-file") == nil {
				t.Errorf("%s --%s has no --%s-file", cmd.CommandPath(), name, name)
			}
		}
	}
}
