package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/edge"
	"cairn/services"
)

// address is the URL of a Cairn in this process.
var address string

func TestMain(m *testing.M) {
	code, err := withCairn(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withCairn calls do while a Cairn serves in this process.
func withCairn(do func() int) (code int, err error) {
	nats, err := bustest.UnusedAddress()
	if err != nil {
		return 0, err
	}
	server, err := natsserver.Start("", nats)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	conn, err := server.Open("client-test")
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	config := services.Defaults()
	config.Log, config.Model = slog.New(slog.DiscardHandler), "offline:"
	if err := services.Setup(context.Background(), conn, conn, config); err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address = "http://" + listener.Addr().String()
	serving, stopEdge := context.WithCancel(context.Background())
	working, stopServices := context.WithCancel(context.Background())
	var edges, workers errgroup.Group
	defer func() {
		stopEdge()
		edgeErr := edges.Wait()
		stopServices()
		err = errors.Join(err, edgeErr, workers.Wait())
	}()
	up, failed := make(chan struct{}), make(chan error, 1)
	workers.Go(func() error {
		err := services.Run(working, conn, config, func() { close(up) })
		failed <- err
		return err
	})
	select {
	case <-up:
	case err := <-failed:
		return 0, fmt.Errorf("services ended before they served: %w", err)
	}
	edges.Go(func() error {
		return edge.Serve(serving,
			edge.Config{Listener: listener, Conn: conn, Log: slog.New(slog.DiscardHandler), Drain: 10 * time.Second})
	})
	return do(), nil
}
