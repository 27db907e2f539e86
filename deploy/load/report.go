package load

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
)

//go:embed report.html
var reportText string

var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"ms":      func(v float64) string { return fmt.Sprintf("%.3g", v) },
	"number":  func(v float64) string { return fmt.Sprintf("%.4g", v) },
	"percent": func(v float64) string { return fmt.Sprintf("%.3g%%", 100*v) },
}).Parse(reportText))

// colors is the number of distinct line colors.
const colors = 8

// nines maps a percentile to an axis on which each nine has equal width.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }
