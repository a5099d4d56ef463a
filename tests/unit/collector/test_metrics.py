"""The collector's metrics, by tenant and within a bound."""

from windlass.collector.metrics import OTHERS, TENANTS_MAX, CollectorMetrics


def test_everything_is_counted_by_tenant() -> None:
    metrics = CollectorMetrics()
    metrics.observed("a")
    metrics.observed("b")
    metrics.deduplicated("a")
    metrics.failed("b")
    metrics.published("a", 700)
    text = metrics.text({"a": 4}, {"leads": 1})
    for line in (
        'windlass_collector_observed_total{tenant="a"} 1',
        'windlass_collector_deduplicated_total{tenant="a"} 1',
        'windlass_collector_failed_total{tenant="b"} 1',
        'windlass_collector_published_total{tenant="a"} 1',
        'windlass_collector_spooled{tenant="a"} 4',
        'windlass_collector_lag_ms_bucket{tenant="a",le="500"} 0',
        'windlass_collector_lag_ms_bucket{tenant="a",le="1000"} 1',
        "windlass_collector_leads 1",
    ):
        assert line in text.splitlines()


def test_tenants_that_somebody_made_up_do_not_fill_the_memory() -> None:
    metrics = CollectorMetrics()
    for number in range(TENANTS_MAX + 50):
        metrics.observed(f'"t{number}')
    lines = metrics.text({}, {}).splitlines()
    assert f'windlass_collector_observed_total{{tenant="{OTHERS}"}} 50' in lines
    assert 'windlass_collector_observed_total{tenant="\\"t7"} 1' in lines
