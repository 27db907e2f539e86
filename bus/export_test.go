package bus

// AsKnown is for tests of what a later nats-server may do.
var AsKnown = asKnown
