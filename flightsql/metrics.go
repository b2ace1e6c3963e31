package flightsql

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts calls; nil counts nothing.
type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	rows    *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	if r == nil {
		return nil
	}
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loam_flight_calls_total", Help: "Flight calls by method and gRPC status.",
		}, []string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "loam_flight_call_seconds", Help: "Duration of Flight calls by method.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
		}, []string{"method"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loam_flight_rows_total", Help: "Rows sent and received over Flight.",
		}, []string{"direction"}),
	}
	r.MustRegister(m.calls, m.seconds, m.rows)
	return m
}

func (m *metrics) call(method, code string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(method, code).Inc()
		m.seconds.WithLabelValues(method).Observe(took.Seconds())
	}
}

func (m *metrics) moved(direction string, rows int64) {
	if m != nil {
		m.rows.WithLabelValues(direction).Add(float64(rows))
	}
}
