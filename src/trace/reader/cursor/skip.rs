//! A cursor at an object or list → behind it.

use super::{Cursor, Stop};

/// Values nest at most this deep; a gigabyte of `[` is refused after that many.
const MAX_DEPTH: u32 = 512;

impl Cursor<'_> {
    /// Steps over the object or list that is next, however deep, without recursion; where it ends.
    pub(super) fn skip_composite(&mut self) -> Result<usize, Stop> {
        let index = &self.index[self.at..];
        let mut depth = 0u32;
        let mut before = 0;
        for (step, &position) in index.iter().enumerate() {
            let role = ROLES[usize::from(self.text[position as usize])];
            if role & before & STARTS != 0 {
                return Err(Stop::Broken);
            }
            if role & WORD != 0 {
                let Some(&next) = index.get(step + 1) else {
                    break;
                };
                self.is_null(self.scalar_between(position, next));
            }
            depth = depth + u32::from(role & OPENS) - u32::from(role & CLOSES != 0);
            if depth.wrapping_sub(1) >= MAX_DEPTH {
                if depth != 0 {
                    return Err(Stop::TooDeep);
                }
                self.at += step + 1;
                return Ok(position as usize + 1);
            }
            // Kept shifted, so that a token that ends a value meets the bit of one that starts a value: two
            // values need a comma or colon between them.
            before = role << 1;
        }
        Err(Stop::Incomplete)
    }
}

/// What a token does, by its first byte: opens or closes an object or list, ends or starts a value,
/// or is a word that has to be looked at.
const ROLES: [u8; 256] = {
    let mut roles = [WORD | ENDS | STARTS; 256];
    let mut digit = b'0';
    while digit <= b'9' {
        roles[digit as usize] = ENDS | STARTS;
        digit += 1;
    }
    roles[b'"' as usize] = ENDS | STARTS;
    roles[b'{' as usize] = OPENS | STARTS;
    roles[b'[' as usize] = OPENS | STARTS;
    roles[b'}' as usize] = CLOSES | ENDS;
    roles[b']' as usize] = CLOSES | ENDS;
    roles[b',' as usize] = 0;
    roles[b':' as usize] = 0;
    roles
};

const OPENS: u8 = 1;
const CLOSES: u8 = 2;
const ENDS: u8 = 4;
/// One bit above [`ENDS`]: a role that starts a value meets the shifted role before it there.
const STARTS: u8 = 8;
const WORD: u8 = 16;
