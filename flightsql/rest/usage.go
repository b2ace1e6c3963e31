package rest

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loamdb/loam/flightsql/internal/engine"
)

// usage shows what the namespaces hold to Prometheus, asked when it asks.
type usage struct{ engine engine.Engine }

var (
	namespaceBytes    = prometheus.NewDesc("loam_namespace_bytes", "Bytes that versions and tags of a namespace keep, and its log.", []string{"namespace"}, nil)
	tagExclusiveBytes = prometheus.NewDesc("loam_tag_exclusive_bytes", "Bytes that only tags of a namespace keep.", []string{"namespace"}, nil)
	quotaBytes        = prometheus.NewDesc("loam_namespace_quota_bytes", "Storage quota of a namespace that has one.", []string{"namespace"}, nil)
)

// scrapeTimeout bounds the wait for the metastore: without it the other metrics are shown.
const scrapeTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (usage) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{namespaceBytes, tagExclusiveBytes, quotaBytes} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (u usage) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	list, err := u.engine.Usage(ctx)
	if err != nil {
		return
	}
	show := func(d *prometheus.Desc, v int64, namespace string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), namespace)
	}
	for _, n := range list {
		show(namespaceBytes, n.Bytes, n.Name)
		show(tagExclusiveBytes, n.TagBytes, n.Name)
		if n.Quota > 0 {
			show(quotaBytes, n.Quota, n.Name)
		}
	}
}
