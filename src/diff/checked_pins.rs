//! Checks that the alignment satisfied every pin.

use super::pins::resolve;
use super::{Pin, TraceDiff};
use crate::error::{Error, ErrorKind, Result};
use crate::side::Side;

impl TraceDiff {
    /// Checks that every [pin](super::DiffOptions::pins) was satisfied.
    ///
    /// # Errors
    /// Fails if a query selects no calls, if the two queries of a pin select different numbers of calls, or if a pinned
    /// pair contradicts another match. Two pairs contradict each other if the first pair is above the second on one
    /// side and below it on the other side, because no tree can contain both pairs.
    #[doc(hidden)]
    pub fn check_pins(&self) -> Result<()> {
        let pins = &self.options().pins;
        for (a, b) in resolve(pins, self.trees())? {
            if self.counterpart(Side::Baseline, a) == Some(b) {
                continue;
            }
            let name = self.tree(Side::Baseline).name(a).to_owned();
            let of_call =
                |pin: &&Pin| pin.calls(self.trees()).is_ok_and(|calls| calls.contains(&(a, b)));
            let pin = pins.iter().find(of_call).map_or_else(String::new, Pin::to_string);
            let message = format!(
                "cannot match {name}: another matched pair encloses it on one side but is inside \
                 it on the other side"
            );
            return Err(Error::new(ErrorKind::Usage, pin, message).remedy(
                "match the enclosing calls as well, or choose calls that are not inside each other",
            ));
        }
        Ok(())
    }
}
