package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

func TestLogHandler(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	log := slog.New(bus.LogHandler(bus.LogHandler(slog.NewTextHandler(&logged, nil))))
	log.InfoContext(t.Context(), "plain")
	ctx := bus.WithIdentity(bus.WithRequestID(t.Context(), "r-1"), &schemas.Identity{ID: "k-1"})
	log.With("service", "tags").InfoContext(ctx, "known")
	plain, declared, _ := strings.Cut(logged.String(), "\n")
	if strings.Contains(plain, "request_id") || strings.Contains(plain, "by=") {
		t.Errorf("without a request: %s", plain)
	}
	if !strings.Contains(declared, "service=tags request_id=r-1 by=k-1\n") {
		t.Errorf("with one: %s", declared)
	}
}

func TestLogHandlerBoundsValues(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(bus.LogHandler(slog.NewTextHandler(&out, nil)))
	large := strings.Repeat("x", 1<<20)
	log.With("with", large).Info(large, "string", large, "err", errors.New(large), "bytes", []byte(large),
		slog.Group("group", "member", large), "struct", struct{ Field string }{large}, "small", 7)
	line := out.String()
	if len(line) > 16<<10 {
		t.Errorf("the line has %d bytes", len(line))
	}
	if got := strings.Count(line, "… (1048576 bytes)"); got != 5 {
		t.Errorf("%d values name their length, want 5", got)
	}
	if !strings.Contains(line, "small=7") {
		t.Error("a short value is missing")
	}
}

func TestLogHandlerLogsTheStackOfAPanic(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	func() {
		defer func() {
			slog.New(bus.LogHandler(slog.NewTextHandler(&out, nil))).Error("request failed", "err", bus.Recovered(recover()))
		}()
		panic("boom")
	}()
	if line := out.String(); !strings.Contains(line, `err="panic: boom"`) ||
		!strings.Contains(line, "TestLogHandlerLogsTheStackOfAPanic") {
		t.Errorf("got %s", line)
	}
}

func TestLogHandlerLimitsRepeatedWarnings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := bus.LogHandler(slog.NewTextHandler(&out, nil)).WithAttrs([]slog.Attr{slog.String("service", "tags")})
	now := time.Now()
	line := func(level slog.Level, after time.Duration, subject, detail string) string {
		t.Helper()
		out.Reset()
		r := slog.NewRecord(now.Add(after), level, "request refused", 0)
		r.AddAttrs(slog.String("subject", subject), slog.Any("err", schemas.ErrUnavailable.Because(detail)))
		bustest.Must(t, h.Handle(t.Context(), r))
		return out.String()
	}
	logged := 0
	for i := range 1000 {
		if line(slog.LevelWarn, 0, "cairn.a", fmt.Sprint("detail ", i)) != "" {
			logged++
		}
	}
	if logged != 10 {
		t.Errorf("%d of 1,000 lines at once are logged, want 10", logged)
	}
	if line(slog.LevelWarn, 0, "cairn.b", "x") == "" || line(slog.LevelError, 0, "cairn.a", "x") == "" {
		t.Error("a line of another key is suppressed")
	}
	if got := line(slog.LevelWarn, 1500*time.Millisecond, "cairn.a", "x"); !strings.Contains(got, "suppressed=990") {
		t.Errorf("the next line is %q, want it to report 990 suppressed ones", got)
	}
	line(slog.LevelWarn, 1500*time.Millisecond, "cairn.a", "x")
	if got := line(slog.LevelInfo, time.Minute, "cairn.c", "x"); !strings.Contains(got,
		`msg="repeated log lines suppressed"`) ||
		!strings.Contains(got, `line="request refused" suppressed=1`) {
		// The second line at 1.5 s was suppressed.
		t.Errorf("after the flood: %q, want its suppressed lines", got)
	}
	for range 1000 {
		if line(slog.LevelInfo, 0, "cairn.a", "x") == "" {
			t.Fatal("an info line is suppressed")
		}
	}
}

// TestFailuresAreLoggedOnce sends failing requests as an edge does, and as another
// NATS client does.
func TestFailuresAreLoggedOnce(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	for _, row := range []struct {
		name   string
		err    error
		logged bool // by the worker, so that the client need not
		worker string
	}{
		{"a client error", schemas.ErrSkillNotFound, false, ""},
		{"a missing feature", schemas.ErrNotImplemented, false, ""},
		{"a client error of status 500", bus.CallerError(schemas.ErrInternal), true, ""},
		{"an unavailable dependency", schemas.ErrUnavailable, true, "level=WARN"},
		{"a fault", errors.New("fault"), true, "level=ERROR"},
		{"a timeout that the client reports too", context.DeadlineExceeded, false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := bustest.ServiceWithLog(t, conn, "register", slog.NewTextHandler(&out, nil))
			subject := bus.Reindex
			subject.Subject = "cairn.test." + strings.ReplaceAll(row.name, " ", "_")
			bustest.Must(t, subject.Serve(s,
				func(context.Context, schemas.Nothing) (r schemas.Reindexed, err error) { return r, row.err }))
			ctx := bus.WithRequestID(t.Context(), "r-7")
			if _, err := subject.Call(ctx, conn, schemas.Nothing{}); err == nil || bus.Logged(err) != row.logged {
				t.Errorf("got %v, logged by the worker: %v, want %v", err, bus.Logged(err), row.logged)
			}
			bustest.Must(t, s.Stop(t.Context()))
			line := out.String()
			if row.worker == "" && line != "" || strings.Count(line, "\n") > 1 || !strings.Contains(line, row.worker) {
				t.Errorf("the worker logs %q, want %q", line, row.worker)
			}
			if row.worker != "" && !strings.Contains(line, "request_id=r-7") {
				t.Errorf("the line %q does not contain the request id", line)
			}
		})
	}
}

// TestUndeliverableRepliesAreNotLogged sends requests to which no reply can be sent.
func TestUndeliverableRepliesAreNotLogged(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	conn, nc := startServer(t)
	s := bustest.ServiceWithLog(t, conn, "both", slog.NewTextHandler(&logged, nil))
	handled := make(chan struct{}, 8)
	err := errors.Join(
		bus.Analyze.Serve(s, func(context.Context, schemas.Analysis, bus.Sender) error {
			return schemas.ErrInternal.Because("fault")
		}),
		bus.DeleteTag.Serve(s, func(context.Context, schemas.TagKey) (schemas.Nothing, error) {
			handled <- struct{}{}
			return schemas.Nothing{}, nil
		}))
	bustest.Must(t, err)
	err = errors.Join(
		nc.Publish(bus.Analyze.Subject, anything),
		nc.PublishRequest(bus.Analyze.Subject, "no.inbox", anything),
		nc.PublishRequest(bus.DeleteTag.Subject, "no.inbox", []byte(`{"request_id":"r"}`)),
		nc.Publish(bus.DeleteTag.Subject, []byte(`{"request_id":"r"}`)))
	bustest.Must(t, err)
	<-handled // the last request; its reply is discarded
	bustest.Must(t, s.Stop(t.Context()))
	if logged.Len() > 0 {
		t.Errorf("logged: %s", logged.String())
	}
}
