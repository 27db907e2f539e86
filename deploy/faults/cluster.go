package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
)

// nodes is the size of the cluster.
const nodes = 3

// cluster is a set of "cairn up" processes whose routes go through links.
type cluster struct {
	program, dir        string
	https, natss, routs [nodes]string
	links               [nodes][nodes]*link // from, to
	procs               [nodes]*exec.Cmd
	logs                [nodes]*os.File
	mounted             []string // mounted disks of the nodes; none: all use the disk of dir
}

// newCluster allocates addresses and links for the nodes. It starts none of them.
func newCluster(program, dir string) (*cluster, error) {
	c := &cluster{program: program, dir: dir}
	for i := range nodes {
		for _, at := range []*string{&c.https[i], &c.natss[i], &c.routs[i]} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			*at = l.Addr().String()
			defer func() { _ = l.Close() }() // keeps the port until all addresses are allocated
		}
	}
	for i := range nodes {
		for j := range nodes {
			if i == j {
				continue
			}
			var err error
			if c.links[i][j], err = newLink(c.routs[j]); err != nil {
				return nil, errors.Join(err, c.close())
			}
		}
	}
	return c, nil
}

// run starts the node.
func (c *cluster) run(i int) error {
	var routes []string
	for _, l := range c.links[i] {
		if l != nil {
			routes = append(routes, l.listener.Addr().String())
		}
	}
	log, err := os.OpenFile(filepath.Join(c.dir, name(i)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// Gossiped routes are unreachable, so that all traffic goes through links.
	cmd := exec.Command(c.program, "up", "--http", c.https[i], "--nats-listen", c.natss[i], "--data", filepath.Join(c.folder(i), "data"),
		"--model", "offline:", "--cluster", "faults", "--node", name(i), "--cluster-listen", c.routs[i], "--cluster-advertise", "127.0.0.1:1",
		"--routes", strings.Join(routes, ","), "--log-level", "warn") // #nosec G204 -- the program is this one
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	c.procs[i], c.logs[i] = cmd, log
	return nil
}

func name(i int) string { return "node" + strconv.Itoa(i) }

// kill sends SIGKILL to the node and waits for its end.
func (c *cluster) kill(i int) {
	if c.procs[i] == nil {
		return
	}
	_ = c.procs[i].Process.Kill() // fails if it has already exited
	_ = c.procs[i].Wait()         // reports the signal
	_ = c.logs[i].Close()
	c.procs[i] = nil
}

// stop suspends the node until cont.
func (c *cluster) stop(i int) error { return c.procs[i].Process.Signal(syscall.SIGSTOP) }
func (c *cluster) cont(i int) error { return c.procs[i].Process.Signal(syscall.SIGCONT) }

// isolate partitions the node from the others until heal.
func (c *cluster) isolate(i int) {
	for j := range nodes {
		if i != j {
			c.links[i][j].cut()
			c.links[j][i].cut()
		}
	}
}

func (c *cluster) heal() {
	for _, row := range c.links {
		for _, l := range row {
			if l != nil {
				l.heal()
			}
		}
	}
}

// well waits until all nodes are healthy.
func (c *cluster) well(ctx context.Context) error {
	for i := 0; i < nodes; {
		if c.healthy(ctx, i) {
			i++
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not come up; its log is in %s: %w", name(i), c.dir, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// healthy reports whether the health status of the node is ok.
func (c *cluster) healthy(ctx context.Context, i int) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.https[i]+"/health", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	var h schemas.Health
	return json.UnmarshalRead(res.Body, &h) == nil && h.Status == schemas.StatusOK
}

// leader returns the node that leads the bucket, or 0 if the leader is unknown.
func (c *cluster) leader(ctx context.Context, of string) int {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := bus.Open("nats://"+strings.Join(c.natss[:], ",nats://"), "cairn-faults")
	if err != nil {
		return 0
	}
	defer conn.Close()
	s, err := conn.JetStream().Stream(ctx, bucket.StreamPrefix+of)
	if err != nil || s.CachedInfo().Cluster == nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(s.CachedInfo().Cluster.Leader, "node")) // 0 without a leader
	return n
}

func (c *cluster) close() error {
	for i := range nodes {
		c.kill(i)
	}
	var errs []error
	for _, row := range c.links {
		for _, l := range row {
			if l != nil {
				errs = append(errs, l.close())
			}
		}
	}
	return errors.Join(append(errs, c.undisk())...)
}
