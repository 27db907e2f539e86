package bus

// AsKnown exports asKnown.
var AsKnown = asKnown
