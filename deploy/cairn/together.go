package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/edge"
	"cairn/services"
)

// together runs the services and, once they all serve, the edge, until ctx
// ends. The edge goes first, so that what it has taken is still answered.
func together(ctx context.Context, conn *bus.Conn, c services.Config, e edge.Config, ready func()) error {
	serving, leave := context.WithCancel(ctx)
	defer leave()
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var g errgroup.Group
	up := make(chan struct{})
	g.Go(func() error {
		defer leave()
		return services.Run(working, conn, c, func() { close(up) })
	})
	g.Go(func() error {
		defer rest()
		select {
		case <-serving.Done():
			return nil
		case <-up:
		}
		ready()
		return edge.Serve(serving, e)
	})
	return g.Wait()
}
