//! The answer as JSON; `docs/probe.md` names the fields.

use isoscope::LevelId;
use probe::expect::Difference;
use probe::{Cell, Class, Finding, Report, Row, Schedule, transcript};
use serde_json::{Value, json};

/// The whole answer.
pub fn value(report: &Report, differences: Option<&[Difference]>) -> Value {
    let settings: Vec<Value> = report.rows.iter().map(|row| setting(report, row)).collect();
    let mut value = json!({
        "headline": super::text::sentence(report),
        "database": {
            "product": report.database.product,
            "version": report.database.version,
            "urls": report.database.urls,
        },
        "settings": settings,
    });
    if let Some(differences) = differences {
        value["differences"] = differences.iter().map(difference).collect();
    }
    value
}

fn setting(report: &Report, row: &Row) -> Value {
    let suites = report.suites.iter().enumerate().map(|(place, suite)| {
        let counts = row.counts(place);
        let pairs = suite.schedules.iter().zip(&row.findings[place]);
        json!({
            "name": suite.name,
            "counts": {
                "avoid": counts.avoid,
                "rollback": counts.rollback,
                "anomaly": counts.anomaly,
                "timeout": counts.timeout,
            },
            "schedules": pairs.map(|(schedule, finding)| of_schedule(schedule, finding)).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": row.setting.name,
        "is_default": row.setting.is_default,
        "looks_like": report.looks_like(row).map(LevelId::name),
        "suites": suites.collect::<Vec<_>>(),
    })
}

fn of_schedule(schedule: &Schedule, finding: &Finding) -> Value {
    let mut value = json!({
        "name": schedule.name,
        "class": schedule.class,
        "cell": finding.cell().map_or("refused", Cell::word),
    });
    match finding {
        Finding::Refused(reason) => value["reason"] = json!(reason),
        Finding::Ran(ran) => {
            let (run, judgement) = &**ran;
            let order = judgement.serial_order.as_ref();
            value["counted_as"] = json!(finding.class().map(Class::word));
            value["serial_order"] =
                json!(order.map(|order| order.iter().map(|txn| txn.number()).collect::<Vec<_>>()));
            value["transcript"] = json!(transcript(schedule, run, judgement).lines().collect::<Vec<_>>());
        }
    }
    value
}

fn difference(difference: &Difference) -> Value {
    json!({
        "line": difference.line,
        "setting": difference.setting,
        "schedule": difference.subject,
        "expected": difference.expected,
        "found": difference.found,
    })
}
