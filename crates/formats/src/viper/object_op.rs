//! Operations as objects: `{"opType": "r", "key": .., "value": .., "isDead": ..}` and its kin.

use history::{Bound, Datum, OpTimes, RangeRead, Row, ValueId};

use super::{KEY, Reader, ViperOp, bound, milliseconds};
use crate::error::Error;
use crate::scan::Json;

/// The fields of an operation, in whatever order they come.
#[derive(Default)]
struct Fields {
    kind: u8,
    key: Option<Datum>,
    value: Option<ValueId>,
    read_value: Option<ValueId>,
    is_failed: bool,
    from: Option<Bound>,
    to: Option<Bound>,
    rows: Option<Vec<Row>>,
    times: OpTimes,
}

impl Reader {
    pub(super) fn object_op(&mut self, json: &mut Json<'_, '_>) -> Result<(), Error> {
        json.expect(b'{', "an operation: `{`")?;
        let mut fields = Fields::default();
        loop {
            // The name has to outlive the next token; the longest one known is short.
            let name = json.string("the name of a field")?;
            let known = NAMES.iter().position(|known| *known == name);
            json.expect(b':', "`:` after the name of a field")?;
            match known {
                Some(place) => self.field(json, NAMES[place], &mut fields)?,
                None => json.skip()?,
            }
            if !json.more(b'}', "`,` or `}` after a field")? {
                break;
            }
        }
        self.wait_for_fields(fields).ok_or_else(|| json.error("an operation with all its fields before this"))
    }

    fn field(&mut self, json: &mut Json<'_, '_>, name: &str, fields: &mut Fields) -> Result<(), Error> {
        match name {
            "opType" => fields.kind = kind(json)?,
            "key" => fields.key = Some(json.scalar(KEY)?),
            "value" => fields.value = Some(self.value(json)?),
            "readValue" => fields.read_value = Some(self.value(json)?),
            "isDead" => _ = json.bool("true or false")?,
            "succ" => fields.is_failed = !json.bool("true or false")?,
            "key1" => fields.from = Some(bound(json)?),
            "key2" => fields.to = Some(bound(json)?),
            "liveKVs" => self.rows(json, false, fields.rows.get_or_insert_default())?,
            "deadKVs" => self.rows(json, true, fields.rows.get_or_insert_default())?,
            "reqTS" => fields.times.request = Some(milliseconds(json)?),
            _ => fields.times.response = Some(milliseconds(json)?),
        }
        Ok(())
    }

    /// `None` if a field is missing.
    fn wait_for_fields(&mut self, fields: Fields) -> Option<()> {
        let op = match fields.kind {
            b'r' => ViperOp::Read(fields.key?, fields.value?),
            b'w' => ViperOp::Write(fields.key?, fields.value?),
            b'i' => {
                self.wait(ViperOp::Read(fields.key.clone()?, fields.read_value?), false);
                ViperOp::Insert(fields.key?, fields.value?)
            }
            b'd' => {
                self.wait(ViperOp::Read(fields.key.clone()?, fields.read_value?), false);
                ViperOp::Delete(fields.key?, fields.value?)
            }
            b'-' => {
                ViperOp::Range(RangeRead { from: fields.from?, to: fields.to?, rows: Some(fields.rows?) })
            }
            _ => return None,
        };
        self.wait(op, fields.is_failed);
        if let Some(waiting) = self.waiting.last_mut() {
            waiting.times = fields.times;
        }
        Some(())
    }
}

const NAMES: [&str; 12] = [
    "opType",
    "key",
    "value",
    "readValue",
    "isDead",
    "succ",
    "key1",
    "key2",
    "liveKVs",
    "deadKVs",
    "reqTS",
    "resTS",
];

fn kind(json: &mut Json<'_, '_>) -> Result<u8, Error> {
    let kind = match json.string("the kind of an operation")? {
        "r" => Some(b'r'),
        "w" => Some(b'w'),
        "i" => Some(b'i'),
        "d" => Some(b'd'),
        "range" => Some(b'-'),
        _ => None,
    };
    kind.ok_or_else(|| json.error("one of r, w, i, d, range before this"))
}
