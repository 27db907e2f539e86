package importer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/deploy/internal/flags"
)

const (
	// exitDelay bounds the time after which a command whose stdin is closed is killed.
	exitDelay = 5 * time.Second
	// killDelay bounds the wait for the output of a killed command, which a child process may hold open.
	killDelay = time.Second
	// maxHead bounds the text of stdout for an error.
	maxHead = 1 << 10
)

// command is an MCP server that communicates over stdin and stdout.
type command struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // closed when the command has ended and its output is read

	output   *io.PipeReader // of the messages
	messages *io.PipeWriter
	head     bytes.Buffer // the first maxHead bytes of stdout
}

// startCommand starts a command, which ends with ctx.
func startCommand(ctx context.Context, args []string, stderr io.Writer) (*command, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) // #nosec G204 -- the user's own command
	c := &command{cmd: cmd, ended: make(chan struct{})}
	c.output, c.messages = io.Pipe()
	// The server must not learn keys of Cairn.
	c.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CAIRN_") })
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = c, stderr, killDelay
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // explain has the exit status
		_ = c.messages.Close()
	}()
	return c, nil
}

func (c *command) transport() sdk.Transport { return &sdk.IOTransport{Reader: c, Writer: c.stdin} }

// Write receives stdout.
func (c *command) Write(p []byte) (int, error) {
	c.head.Write(p[:min(len(p), maxHead-c.head.Len())])
	return c.messages.Write(p)
}

// Read implements io.Reader.
func (c *command) Read(p []byte) (int, error) { return c.output.Read(p) }

// Close closes stdin and waits for the end of the command.
func (c *command) Close() error {
	_ = c.output.Close() // returns nil
	_ = c.stdin.Close()  // fails if the command has ended
	defer time.AfterFunc(exitDelay, func() { _ = c.cmd.Process.Kill() }).Stop()
	<-c.ended
	return nil
}

// explain returns why no session began, if the command is the cause of err.
func (c *command) explain(ctx context.Context, err error) error {
	_ = c.Close() // for the output and the exit status
	line, _, _ := strings.Cut(strings.TrimSpace(c.head.String()), "\n")
	switch {
	case line != "" && !strings.Contains(line, `"jsonrpc"`):
		return flags.Usage(fmt.Errorf("the command prints %.200q to stdout: expected messages of the protocol only; "+
			"a server logs to stderr", line))
	case ctx.Err() != nil:
		return ctx.Err() // err may be the end of the command that it has killed
	case line == "":
		return flags.Usage(fmt.Errorf("the command ended before it answered (%s): expected an MCP server",
			c.cmd.ProcessState))
	}
	return err
}
