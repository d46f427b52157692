//! Moves a cursor past the end of an object or list.

use super::{Cursor, Stop};

/// Maximum nesting depth. Values that are nested more deeply, such as a gigabyte of `[`, are
/// rejected.
const MAX_DEPTH: u32 = 512;

impl Cursor<'_> {
    /// Skips the next object or list without recursion, and returns its end position.
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
            // The shift moves the bit `ENDS` of this token's role to the position of `STARTS`. If
            // the role of the next token has the bit `STARTS`, the comma or colon between the two
            // values is missing.
            before = role << 1;
        }
        Err(Stop::Incomplete)
    }
}

/// For each byte, the role of a token that begins with it: the token may open or close an object or
/// list, end or start a value, or be a word that must be examined.
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
/// This bit must directly follow [`ENDS`], because `ENDS` of the previous token is shifted to this
/// position.
const STARTS: u8 = 8;
const WORD: u8 = 16;
