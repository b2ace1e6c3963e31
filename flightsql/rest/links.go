package rest

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loamdb/loam/flightsql/internal/engine"
)

// links shows how far the links have got to Prometheus, asked when it asks. Each node
// of a cluster shows the same.
type links struct{ engine engine.Engine }

var linkLabels = []string{"namespace", "link"}

var (
	linkState      = prometheus.NewDesc("loam_link_state", "1 for the state that a link is in: running, paused or failed.", append(linkLabels, "state"), nil)
	linkLagRecords = prometheus.NewDesc("loam_link_lag_records", "Records of the source that a link has not read.", linkLabels, nil)
	linkLagSeconds = prometheus.NewDesc("loam_link_lag_seconds", "Age of the oldest record that a link has not read.", linkLabels, nil)
	linkBatches    = prometheus.NewDesc("loam_link_batches_total", "Batches that a link has committed.", linkLabels, nil)
	linkRead       = prometheus.NewDesc("loam_link_read_records_total", "Records that a link has read.", linkLabels, nil)
	linkWritten    = prometheus.NewDesc("loam_link_written_rows_total", "Rows that a link has written into its target.", linkLabels, nil)
	linkSkipped    = prometheus.NewDesc("loam_link_skipped_records_total", "Bad records that a link has left out.", linkLabels, nil)
	linkDead       = prometheus.NewDesc("loam_link_dead_letters_total", "Bad records that went to a link's dead letters.", linkLabels, nil)
)

// Describe implements prometheus.Collector.
func (links) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{linkState, linkLagRecords, linkLagSeconds, linkBatches, linkRead, linkWritten, linkSkipped, linkDead} {
		out <- d
	}
}

// Collect implements prometheus.Collector. A link that cannot be looked at is left out.
func (l links) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	list, _ := l.engine.Links(ctx)
	for _, s := range list {
		gauge := func(d *prometheus.Desc, v float64, more ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.Namespace, s.Name}, more...)...)
		}
		counter := func(d *prometheus.Desc, v uint64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), s.Namespace, s.Name)
		}
		gauge(linkState, 1, s.State)
		gauge(linkLagRecords, float64(s.LagRecords))
		gauge(linkLagSeconds, s.Lag.Seconds())
		counter(linkBatches, s.Batches)
		counter(linkRead, s.Read)
		counter(linkWritten, s.Written)
		counter(linkSkipped, s.Skipped)
		counter(linkDead, s.Dead)
	}
}
