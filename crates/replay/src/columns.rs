//! Events of one kind -> columns, and back: one table a kind says where each field lies, since when
//! it exists and what it is called; reading, writing and documents all go by that table.
//!
//! Events of a kind have one size within a file, so a field either exists in all of them or in
//! none. Rows arrive in order but for rollbacks. A [`Block`] therefore decodes up to [`BLOCK_ROWS`]
//! rows in a row into arrays whose length the compiler knows, and then appends each array to its
//! column.

use crate::scalar::{Column, Kind, Scalar};
use crate::version::Version;

/// Rows that are decoded before they go to the columns: 64 rows of two characters fit in the first
/// level cache.
pub(crate) const BLOCK_ROWS: usize = 64;
const HALF_BLOCK: usize = BLOCK_ROWS / 2;

/// What a table says about one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the column.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Bytes from the event's code to the value.
    pub offset: usize,
    /// The first version of the format that has the field.
    pub since: Version,
}

impl Field {
    /// Whether events with `payload` bytes behind their code hold this field.
    #[must_use]
    pub fn is_within(&self, payload: usize) -> bool {
        self.offset + self.kind.size() <= payload + 1
    }
}

/// Columns of one kind of event; the tables below implement it.
pub trait Columns: Default {
    /// The fields, in the order of their offsets.
    const FIELDS: &'static [Field];

    /// The columns in the order of [`Self::FIELDS`]; those that the file lacks are empty.
    fn columns(&self) -> Vec<Column<'_>>;

    /// Makes every field that events with `payload` bytes hold `rows` long, with zeros for what is
    /// new.
    fn resize(&mut self, rows: usize, payload: usize);

    /// Bytes behind the code that an event of this version has; of those without fields, what is
    /// before the fields.
    #[must_use]
    fn payload(version: Version) -> usize {
        let of_version = Self::FIELDS.iter().filter(|f| f.since <= version);
        of_version.map(|f| f.offset + f.kind.size() - 1).max().unwrap_or(4)
    }
}

/// What the reader and the writer need of columns beyond what users do.
pub(crate) trait Stored: Columns {
    type Block: Block<Columns = Self>;

    /// Makes all columns empty and keeps their memory.
    fn clear(&mut self);
    /// Makes columns that events with `payload` bytes hold at least `rows` long, whatever is in
    /// them, and the others empty.
    fn prepare(&mut self, rows: usize, payload: usize);
    /// Makes one row zero.
    fn clear_row(&mut self, row: usize);
    /// The rows of these ranges, in their order.
    fn gather(&self, ranges: &[std::ops::Range<usize>]) -> Self;
    /// Writes the fields of a row into an event's bytes; those behind its end are left out.
    fn encode(&self, row: usize, event: &mut [u8]);
}

/// Decoded rows that are not in the columns yet.
pub(crate) trait Block: Default {
    type Columns: Stored<Block = Self>;

    /// Decodes the event at the beginning of `bytes` as the next row; `bytes` may be longer.
    fn push(&mut self, bytes: &[u8]);
    fn rows(&self) -> usize;
    /// Forgets its rows.
    fn clear(&mut self);
    /// Moves the rows to the columns, the first of them to row `start`.
    fn flush(&mut self, start: usize, payload: usize, columns: &mut Self::Columns);
}

/// Puts rows at `start`; the column becomes as long as it must.
#[inline(always)]
fn store<T: Copy + Default>(column: &mut Vec<T>, start: usize, rows: &[T]) {
    let end = start + rows.len();
    if column.len() < end {
        column.resize(end, T::default());
    }
    let place = &mut column[start..end];
    // Most blocks are full, and a copy whose length is known is a few instructions.
    match (place.as_chunks_mut::<HALF_BLOCK>(), rows.as_chunks::<HALF_BLOCK>()) {
        (([first, second], []), ([upper, lower], [])) => {
            *first = *upper;
            *second = *lower;
        }
        _ => place.copy_from_slice(rows),
    }
}

macro_rules! event_columns {
    ($(#[$doc:meta])* $columns:ident, $block:ident, $size:literal {
        $($(#[$field_doc:meta])* $field:ident: $ty:ident @ $offset:literal since $major:literal $minor:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $columns { $($(#[$field_doc])* pub $field: Vec<$ty>,)* }

        impl Columns for $columns {
            const FIELDS: &'static [Field] = &[$(Field {
                name: stringify!($field),
                kind: <$ty as Scalar>::KIND,
                offset: $offset,
                since: Version::new($major, $minor, 0),
            }),*];

            fn columns(&self) -> Vec<Column<'_>> {
                vec![$(<$ty as Scalar>::column(&self.$field)),*]
            }

            fn resize(&mut self, rows: usize, payload: usize) {
                $(if $offset + size_of::<$ty>() <= payload + 1 {
                    self.$field.resize(rows, <$ty>::default());
                })*
            }
        }

        impl Stored for $columns {
            type Block = $block;

            fn clear(&mut self) { $(self.$field.clear();)* }

            fn prepare(&mut self, rows: usize, payload: usize) {
                $(if $offset + size_of::<$ty>() > payload + 1 {
                    self.$field.clear();
                } else if self.$field.len() < rows {
                    self.$field.resize(rows, <$ty>::default());
                })*
            }

            fn clear_row(&mut self, row: usize) {
                $(if let Some(value) = self.$field.get_mut(row) { *value = <$ty>::default(); })*
            }

            fn gather(&self, ranges: &[std::ops::Range<usize>]) -> Self {
                let mut gathered = Self::default();
                for range in ranges {
                    $(if let Some(rows) = self.$field.get(range.clone()) {
                        gathered.$field.extend_from_slice(rows);
                    })*
                }
                gathered
            }

            fn encode(&self, row: usize, event: &mut [u8]) {
                $(if let (Some(value), Some(place)) = (
                    self.$field.get(row),
                    event.get_mut($offset..$offset + size_of::<$ty>()),
                ) {
                    place.copy_from_slice(&value.to_bits_be());
                })*
            }
        }

        /// Rows of the columns of the same name.
        #[derive(Debug)]
        pub(crate) struct $block { rows: usize, $($field: [$ty; BLOCK_ROWS],)* }

        impl Default for $block {
            fn default() -> Self {
                Self { rows: 0, $($field: [<$ty>::default(); BLOCK_ROWS],)* }
            }
        }

        impl $block {
            #[inline(always)]
            fn decode(&mut self, event: &[u8; $size]) {
                let k = self.rows % BLOCK_ROWS;
                $(self.$field[k] = <$ty as Scalar>::value_at::<$size, $offset>(event);)*
                self.rows = k + 1;
            }

            /// Near the end of a file an event of an old version may have no bytes behind it.
            #[cold]
            #[inline(never)]
            fn push_last(&mut self, bytes: &[u8]) {
                let mut padded = [0; $size];
                padded[..bytes.len()].copy_from_slice(bytes);
                self.decode(&padded);
            }
        }

        impl Block for $block {
            type Columns = $columns;

            #[inline(always)]
            fn push(&mut self, bytes: &[u8]) {
                match bytes.first_chunk() {
                    Some(event) => self.decode(event),
                    None => self.push_last(bytes),
                }
            }

            #[inline(always)]
            fn rows(&self) -> usize { self.rows }

            fn clear(&mut self) { self.rows = 0; }

            #[inline(never)]
            fn flush(&mut self, start: usize, payload: usize, columns: &mut $columns) {
                // What lies behind the payload was decoded from the next event and is dropped here.
                $(if $offset + size_of::<$ty>() <= payload + 1 {
                    store(&mut columns.$field, start, &self.$field[..self.rows]);
                })*
                self.rows = 0;
            }
        }
    };
}

event_columns! {
    /// What the game knew before a frame: the player's inputs. Positions and sticks are in the
    /// game's units; sticks lie in [-1, 1], triggers in [0, 1].
    Pre, PreBlock, 0x43 {
        /// Seed of the game's random numbers.
        random_seed: u32 @ 0x07 since 0 1;
        /// Number of the action that the character is in.
        action: u16 @ 0x0b since 0 1;
        /// Horizontal position.
        x: f32 @ 0x0d since 0 1;
        /// Vertical position.
        y: f32 @ 0x11 since 0 1;
        /// -1 to the left, 1 to the right, 0 with some items.
        facing: f32 @ 0x15 since 0 1;
        /// Control stick, horizontal.
        stick_x: f32 @ 0x19 since 0 1;
        /// Control stick, vertical.
        stick_y: f32 @ 0x1d since 0 1;
        /// C-stick, horizontal.
        c_stick_x: f32 @ 0x21 since 0 1;
        /// C-stick, vertical.
        c_stick_y: f32 @ 0x25 since 0 1;
        /// The trigger that is pressed further, after the game's processing.
        trigger: f32 @ 0x29 since 0 1;
        /// Buttons after the game's processing, one bit each.
        buttons: u32 @ 0x2d since 0 1;
        /// Buttons of the controller, one bit each.
        physical_buttons: u16 @ 0x31 since 0 1;
        /// Left trigger of the controller.
        physical_l: f32 @ 0x33 since 0 1;
        /// Right trigger of the controller.
        physical_r: f32 @ 0x37 since 0 1;
        /// Control stick before processing, horizontal.
        raw_stick_x: i8 @ 0x3b since 1 2;
        /// Damage in percent.
        percent: f32 @ 0x3c since 1 4;
        /// Control stick before processing, vertical.
        raw_stick_y: i8 @ 0x40 since 3 15;
        /// C-stick before processing, horizontal.
        raw_c_stick_x: i8 @ 0x41 since 3 17;
        /// C-stick before processing, vertical.
        raw_c_stick_y: i8 @ 0x42 since 3 17;
    }
}

event_columns! {
    /// What a frame led to: the character's state.
    Post, PostBlock, 0x55 {
        /// The game's internal number of the character; changes for Zelda and Sheik only.
        character: u8 @ 0x07 since 0 1;
        /// Number of the action that the character is in.
        action: u16 @ 0x08 since 0 1;
        /// Horizontal position.
        x: f32 @ 0x0a since 0 1;
        /// Vertical position.
        y: f32 @ 0x0e since 0 1;
        /// -1 to the left, 1 to the right, 0 with some items: a number, never a truth value.
        facing: f32 @ 0x12 since 0 1;
        /// Damage in percent.
        percent: f32 @ 0x16 since 0 1;
        /// Size of the shield, in [0, 60].
        shield: f32 @ 0x1a since 0 1;
        /// The last attack of this character that hit.
        last_attack_landed: u8 @ 0x1e since 0 1;
        /// Hits in a row as the game counts them.
        combo_count: u8 @ 0x1f since 0 1;
        /// The port that hit this character last; 6 in some cases.
        last_hit_by: u8 @ 0x20 since 0 1;
        /// Stocks that are left.
        stocks: u8 @ 0x21 since 0 1;
        /// Frames in the present action; may have a fraction.
        action_age: f32 @ 0x22 since 0 2;
        /// First byte of state bits: 0x10 reflects.
        state_bits_1: u8 @ 0x26 since 2 0;
        /// Second byte of state bits: 0x04 cannot be hit, 0x08 falls fast, 0x20 is in hitlag.
        state_bits_2: u8 @ 0x27 since 2 0;
        /// Third byte of state bits: 0x80 shields.
        state_bits_3: u8 @ 0x28 since 2 0;
        /// Fourth byte of state bits: 0x02 is in hitstun.
        state_bits_4: u8 @ 0x29 since 2 0;
        /// Fifth byte of state bits: 0x08 is a follower, 0x40 is dead, 0x80 is off screen.
        state_bits_5: u8 @ 0x2a since 2 0;
        /// Frames of hitstun that are left while in hitstun, else a number of the action's own.
        action_number: f32 @ 0x2b since 2 0;
        /// 0 on the ground, 1 in the air.
        airborne: u8 @ 0x2f since 2 0;
        /// The ground that the character stood on last.
        last_ground: u16 @ 0x30 since 2 0;
        /// Jumps that are left.
        jumps: u8 @ 0x32 since 2 0;
        /// 0 none, 1 successful, 2 unsuccessful.
        l_cancel: u8 @ 0x33 since 2 0;
        /// 0 vulnerable, 1 invulnerable, 2 intangible.
        hurtbox: u8 @ 0x34 since 2 1;
        /// Own horizontal speed in the air, per frame.
        speed_x_air: f32 @ 0x35 since 3 5;
        /// Own vertical speed, per frame.
        speed_y: f32 @ 0x39 since 3 5;
        /// Horizontal speed from attacks, per frame.
        knockback_x: f32 @ 0x3d since 3 5;
        /// Vertical speed from attacks, per frame.
        knockback_y: f32 @ 0x41 since 3 5;
        /// Own horizontal speed on the ground, per frame.
        speed_x_ground: f32 @ 0x45 since 3 5;
        /// Frames of hitlag that are left.
        hitlag: f32 @ 0x49 since 3 8;
        /// Number of the animation.
        animation: u32 @ 0x4d since 3 11;
        /// The instance that hit this character last.
        last_hit_by_instance: u16 @ 0x51 since 3 16;
        /// A number of its own for each action of all characters.
        instance: u16 @ 0x53 since 3 16;
    }
}

event_columns! {
    /// Items and projectiles, at most 15 a frame.
    Item, ItemBlock, 0x2d {
        /// What it is.
        kind: u16 @ 0x05 since 3 0;
        /// Its state; the meaning depends on the kind.
        state: u8 @ 0x07 since 3 0;
        /// -1 to the left, 1 to the right, 0 in some cases.
        facing: f32 @ 0x08 since 3 0;
        /// Horizontal speed.
        speed_x: f32 @ 0x0c since 3 0;
        /// Vertical speed.
        speed_y: f32 @ 0x10 since 3 0;
        /// Horizontal position.
        x: f32 @ 0x14 since 3 0;
        /// Vertical position.
        y: f32 @ 0x18 since 3 0;
        /// Damage that it has taken.
        damage: u16 @ 0x1c since 3 0;
        /// Frames until it vanishes.
        timer: f32 @ 0x1e since 3 0;
        /// A number of its own for each item.
        id: u32 @ 0x22 since 3 0;
        /// Kind of a missile of Samus.
        missile: u8 @ 0x26 since 3 2;
        /// Face of a turnip of Peach.
        turnip: u8 @ 0x27 since 3 2;
        /// Whether a charged shot is launched.
        launched: u8 @ 0x28 since 3 2;
        /// Power of a charged shot.
        charge: u8 @ 0x29 since 3 2;
        /// The port that owns it, -1 for none.
        owner: i8 @ 0x2a since 3 6;
        /// Instance of the owner.
        instance: u16 @ 0x2b since 3 16;
    }
}

event_columns! {
    /// What opens a frame.
    FrameStart, FrameStartBlock, 0x0d {
        /// Seed of the game's random numbers.
        random_seed: u32 @ 0x05 since 2 2;
        /// Frames of the scene, which go on while the game is paused.
        scene_frame: u32 @ 0x09 since 3 10;
    }
}

event_columns! {
    /// What closes a frame.
    FrameEnd, FrameEndBlock, 0x09 {
        /// The last frame that no rollback will repeat.
        latest_finalized_frame: i32 @ 0x05 since 3 7;
    }
}

event_columns! {
    /// A platform of Fountain of Dreams that moved.
    Platform, PlatformBlock, 0x0a {
        /// 0 right, 1 left.
        platform: u8 @ 0x05 since 3 18;
        /// Its new height.
        height: f32 @ 0x06 since 3 18;
    }
}

event_columns! {
    /// A change of the wind in Dream Land.
    Wind, WindBlock, 0x06 {
        /// 0 none, 1 to the left, 2 to the right.
        direction: u8 @ 0x05 since 3 18;
    }
}

event_columns! {
    /// A change of Pokémon Stadium.
    Transformation, TransformationBlock, 0x09 {
        /// What happens: 2 begins, 3 on the screen, 4 the old recedes, 5 the new rises, 6 ends, 0
        /// over.
        event: u16 @ 0x05 since 3 18;
        /// The coming stage: 3 fire, 4 grass, 5 normal, 6 rock, 9 water.
        stage: u16 @ 0x07 since 3 18;
    }
}
