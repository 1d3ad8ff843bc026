//! Operations as arrays: `["r", key, value, is_dead]` and its kin.

use history::{Datum, RangeRead};

use super::{KEY, Reader, ViperOp, bound};
use crate::error::Error;
use crate::scan::Json;

impl Reader {
    pub(super) fn array_op(&mut self, json: &mut Json<'_, '_>) -> Result<(), Error> {
        json.expect(b'[', "an operation: `[` or `{`")?;
        let kind = match json.string("the kind of an operation")? {
            "r" => Some(b'r'),
            "w" => Some(b'w'),
            "i" => Some(b'i'),
            "d" => Some(b'd'),
            "append" => Some(b'a'),
            "range" => Some(b'-'),
            _ => None,
        };
        let kind = kind.ok_or_else(|| json.error("one of r, w, i, d, append, range before this"))?;
        comma(json)?;
        match kind {
            b'-' => self.range_array(json)?,
            _ => self.key_array(json, kind)?,
        }
        json.expect(b']', "`]` after an operation")
    }

    fn key_array(&mut self, json: &mut Json<'_, '_>, kind: u8) -> Result<(), Error> {
        let key = json.scalar(KEY)?;
        comma(json)?;
        let value = self.value(json)?;
        match kind {
            b'r' => {
                comma(json)?;
                json.bool("whether the value is dead: true or false")?;
                self.wait(ViperOp::Read(key, value), false);
            }
            b'w' => self.wait_with_success(json, ViperOp::Write(key, value))?,
            b'a' => self.wait_with_success(json, ViperOp::Append(key, value))?,
            b'i' => {
                self.read_before(json, &key)?;
                self.wait_with_success(json, ViperOp::Insert(key, value))?;
            }
            _ => {
                self.read_before(json, &key)?;
                self.wait_with_success(json, ViperOp::Delete(key, value))?;
            }
        }
        Ok(())
    }

    /// Inserts and deletes tell what they found: a read.
    fn read_before(&mut self, json: &mut Json<'_, '_>, key: &Datum) -> Result<(), Error> {
        comma(json)?;
        let found = self.value(json)?;
        comma(json)?;
        json.bool("whether the value found is dead: true or false")?;
        self.wait(ViperOp::Read(key.clone(), found), false);
        Ok(())
    }

    fn wait_with_success(&mut self, json: &mut Json<'_, '_>, op: ViperOp) -> Result<(), Error> {
        comma(json)?;
        let is_done = json.bool("whether the operation succeeded: true or false")?;
        self.wait(op, !is_done);
        Ok(())
    }

    fn range_array(&mut self, json: &mut Json<'_, '_>) -> Result<(), Error> {
        let from = bound(json)?;
        comma(json)?;
        let to = bound(json)?;
        comma(json)?;
        let mut rows = Vec::new();
        self.rows(json, false, &mut rows)?;
        comma(json)?;
        self.rows(json, true, &mut rows)?;
        let rows = Some(rows);
        self.wait(ViperOp::Range(RangeRead { from, to, rows }), false);
        Ok(())
    }
}

fn comma(json: &mut Json<'_, '_>) -> Result<(), Error> {
    json.expect(b',', "`,` inside an operation")
}
