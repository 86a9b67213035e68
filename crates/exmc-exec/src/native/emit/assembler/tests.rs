//! Instructions against the bytes that GNU as gives for them.

use super::*;

/// Bytes that GNU as gives for the instruction in the comment, with a three-byte prefix and a
/// displacement of 32 bits.
#[test]
fn instructions_have_the_bytes_of_the_manual() {
    const NEAR: usize = 0x10_0000_0000;
    let address = |base: usize, offset: isize, moves| Address {
        first: base.wrapping_add_signed(offset),
        moves,
    };
    let far = 0x7000_0000_0000;
    let (never, block, stream) = (Moves::Never, Moves::InBlock, Moves::InLoop);
    type Write<'a> = &'a dyn Fn(&mut Assembler);
    let table: [(Write<'_>, &[u8]); 41] = [
        // vaddpd ymm1, ymm2, ymm3
        (&|a| a.operate(ADD, 1, 2, 3_u8), &[0xc4, 0xe1, 0x6d, 0x58, 0xcb]),
        // vdivpd ymm9, ymm10, ymm11
        (&|a| a.operate(DIV, 9, 10, 11_u8), &[0xc4, 0x41, 0x2d, 0x5e, 0xcb]),
        // vfmadd231pd ymm4, ymm12, ymm5
        (&|a| a.operate(MUL_ADD, 4, 12, 5_u8), &[0xc4, 0xe2, 0x9d, 0xb8, 0xe5]),
        // vfnmadd231pd ymm14, ymm1, ymm9
        (&|a| a.operate(NEG_MUL_ADD, 14, 1, 9_u8), &[0xc4, 0x42, 0xf5, 0xbc, 0xf1]),
        // vsqrtpd ymm3, ymm8
        (&|a| a.square_root(3, 8_u8), &[0xc4, 0xc1, 0x7d, 0x51, 0xd8]),
        // vblendvpd ymm1, ymm2, ymm3, ymm12
        (&|a| a.select(1, 12, 3_u8, 2), &[0xc4, 0xe3, 0x6d, 0x4b, 0xcb, 0xc0]),
        // vcmppd ymm7, ymm1, ymm2, 0x12
        (
            &|a| a.compare(Comparison::LessOrEqual, 7, 1, 2_u8),
            &[0xc4, 0xe1, 0x75, 0xc2, 0xfa, 0x12],
        ),
        // vmovupd ymm13, [rdx + 0x12345640]
        (
            &|a| a.load(13, address(NEAR, 0x1234_5640, never)),
            &[0xc4, 0x61, 0x7d, 0x10, 0xaa, 0x40, 0x56, 0x34, 0x12],
        ),
        // vmovupd ymm1, [rcx + r8 + 0x1234567]
        (
            &|a| a.load(1, address(far, 0x123_4567, block)),
            &[0xc4, 0xa1, 0x7d, 0x10, 0x8c, 0x01, 0x67, 0x45, 0x23, 0x01],
        ),
        // vmovupd [rdx + r9 + 0x12345678], ymm10
        (
            &|a| a.store(address(NEAR, 0x1234_5678, stream), 10),
            &[0xc4, 0x21, 0x7d, 0x11, 0x94, 0x0a, 0x78, 0x56, 0x34, 0x12],
        ),
        // vbroadcastsd ymm5, [rdx + 0x12345608]
        (
            &|a| a.spread(5, address(NEAR, 0x1234_5608, never)),
            &[0xc4, 0xe2, 0x7d, 0x19, 0xaa, 0x08, 0x56, 0x34, 0x12],
        ),
        // vmovsd xmm6, [rcx - 0x1234567]; vmovsd [rdx + 0x12345678], xmm6
        (
            &|a| a.copy_one(address(NEAR, 0x1234_5678, never), address(far, -0x123_4567, never), 6),
            &[
                0xc4, 0xe1, 0x7b, 0x10, 0xb1, 0x99, 0xba, 0xdc, 0xfe, //
                0xc4, 0xe1, 0x7b, 0x11, 0xb2, 0x78, 0x56, 0x34, 0x12,
            ],
        ),
        // vextractf128 xmm5, ymm9, 1; vaddpd xmm9, xmm9, xmm5; vunpckhpd xmm5, xmm9, xmm9;
        // vaddsd xmm9, xmm9, xmm5; vbroadcastsd ymm9, xmm9
        (
            &|a| a.total(9, 5),
            &[
                0xc4, 0x63, 0x7d, 0x19, 0xcd, 0x01, 0xc4, 0x61, 0x31, 0x58, 0xcd, //
                0xc4, 0xc1, 0x31, 0x15, 0xe9, 0xc4, 0x61, 0x33, 0x58, 0xcd, //
                0xc4, 0x42, 0x7d, 0x19, 0xc9,
            ],
        ),
        // movabs rax, 0x2000000000; vmovupd ymm0, [rax + 0]
        (
            &|a| a.load(0, Address::fixed(0x20_0000_0000)),
            &[
                0x48, 0xb8, 0, 0, 0, 0, 0x20, 0, 0, 0, //
                0xc4, 0xe1, 0x7d, 0x10, 0x80, 0, 0, 0, 0,
            ],
        ),
        // vpermpd ymm9, ymm10, 0x4e
        (&|a| a.permute(9, 10, [2, 3, 0, 1]), &[0xc4, 0x43, 0xfd, 0x01, 0xca, 0x4e]),
        // vblendpd ymm1, ymm12, ymm3, 0x5
        (&|a| a.mix(1, 12, 3, [true, false, true, false]), &[0xc4, 0xe3, 0x1d, 0x0d, 0xcb, 0x05]),
        // vbroadcastsd ymm9, xmm10
        (&|a| a.spread_first(9, 10), &[0xc4, 0x42, 0x7d, 0x19, 0xca]),
        // vmovupd [rdx + 0x12345640], xmm9; vextractf128 xmm5, ymm9, 1; vmovsd [rdx + 0x12345650],
        // xmm5
        (
            &|a| a.store_first(address(NEAR, 0x1234_5640, never), 9, 3, 5),
            &[
                0xc4, 0x61, 0x79, 0x11, 0x8a, 0x40, 0x56, 0x34, 0x12, //
                0xc4, 0x63, 0x7d, 0x19, 0xcd, 0x01, //
                0xc4, 0xe1, 0x7b, 0x11, 0xaa, 0x50, 0x56, 0x34, 0x12,
            ],
        ),
        // vmovupd ymm1, [rdx + r12 + 0x1234567]
        (
            &|a| a.load(1, address(NEAR, 0x123_4567, Moves::BySteps(0))),
            &[0xc4, 0xa1, 0x7d, 0x10, 0x8c, 0x22, 0x67, 0x45, 0x23, 0x01],
        ),
        // mov r12, 0x10; mov r13, 0x20; add r13, 16; add r12, 8; cmp r12, 0x12345678; jle to the
        // additions
        (
            &|a| {
                let start = a.begin_steps(&[0x10, 0x20]);
                a.end_steps(start, &[8, 16], 0x1234_5678);
            },
            &[
                0x49, 0xbc, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x49, 0xbd, 0x20, 0, 0, 0, 0, 0, 0,
                0, //
                0x49, 0x81, 0xc5, 0x10, 0, 0, 0, 0x49, 0x81, 0xc4, 0x08, 0, 0, 0, //
                0x49, 0x81, 0xfc, 0x78, 0x56, 0x34, 0x12, 0x0f, 0x8e, 0xe5, 0xff, 0xff, 0xff,
            ],
        ),
        // vzeroupper; mov rdi, 0x2000000000; mov rax, 0x3000000000; call rax
        (
            &|a| a.call(0x30_0000_0000, 0x20_0000_0000),
            &[
                0xc5, 0xf8, 0x77, 0x48, 0xbf, 0, 0, 0, 0, 0x20, 0, 0, 0, //
                0x48, 0xb8, 0, 0, 0, 0, 0x30, 0, 0, 0, 0xff, 0xd0,
            ],
        ),
        // vroundpd ymm3, ymm9, 8
        (&|a| a.round(3, 9_u8), &[0xc4, 0xc3, 0x7d, 0x09, 0xd9, 0x08]),
        // vpsllq ymm12, ymm9, 52; vpsrlq ymm3, ymm2, 1
        (&|a| a.shift(12, 9, true, 52), &[0xc4, 0xc1, 0x1d, 0x73, 0xf1, 0x34]),
        (&|a| a.shift(3, 2, false, 1), &[0xc4, 0xe1, 0x65, 0x73, 0xd2, 0x01]),
        // vpaddq ymm1, ymm2, ymm3; vmaxpd ymm1, ymm2, ymm3
        (&|a| a.operate(ADD_BITS, 1, 2, 3_u8), &[0xc4, 0xe1, 0x6d, 0xd4, 0xcb]),
        (&|a| a.operate(MAX, 1, 2, 3_u8), &[0xc4, 0xe1, 0x6d, 0x5f, 0xcb]),
        // vfmadd213pd ymm4, ymm12, ymm5; vfnmadd213pd ymm4, ymm12, ymm5
        (&|a| a.operate(TIMES_THEN_ADD, 4, 12, 5_u8), &[0xc4, 0xe2, 0x9d, 0xa8, 0xe5]),
        (&|a| a.operate(TIMES_THEN_SUB_FROM, 4, 12, 5_u8), &[0xc4, 0xe2, 0x9d, 0xac, 0xe5]),
        // vmaskmovpd ymm10, ymm5, [rdi + 0x12345640]
        (
            &|a| a.load_some(10, 5, Address::of_position(0x1234_5640)),
            &[0xc4, 0x62, 0x55, 0x2d, 0x97, 0x40, 0x56, 0x34, 0x12],
        ),
        // vmovsd [rsi + 0x12345608], xmm6
        (
            &|a| a.store_one(Address::of_results(0x1234_5608), 6),
            &[0xc4, 0xe1, 0x7b, 0x11, 0xb6, 0x08, 0x56, 0x34, 0x12],
        ),
        // vcvtpd2ps xmm3, ymm9; vcvtps2pd ymm3, xmm9; vcvtps2pd ymm1, [rdx + 0x12345640]
        (&|a| a.narrow(3, 9), &[0xc4, 0xc1, 0x7d, 0x5a, 0xd9]),
        (&|a| a.widen(3, 9), &[0xc4, 0xc1, 0x7c, 0x5a, 0xd9]),
        (
            &|a| a.widen_from(1, address(NEAR, 0x1234_5640, never)),
            &[0xc4, 0xe1, 0x7c, 0x5a, 0x8a, 0x40, 0x56, 0x34, 0x12],
        ),
        // vextractf128 xmm5, ymm9, 1; vinsertf128 ymm1, ymm2, xmm11, 1
        (&|a| a.upper(5, 9), &[0xc4, 0x63, 0x7d, 0x19, 0xcd, 0x01]),
        (&|a| a.join(1, 2, 11), &[0xc4, 0xc3, 0x6d, 0x18, 0xcb, 0x01]),
        // vbroadcastss ymm5, [rdi + 0x12345604]; vmovss [rdi + 0x12345608], xmm6
        (
            &|a| a.spread_single(5, Address::of_position(0x1234_5604)),
            &[0xc4, 0xe2, 0x7d, 0x18, 0xaf, 0x04, 0x56, 0x34, 0x12],
        ),
        (
            &|a| a.store_one_single(Address::of_position(0x1234_5608), 6),
            &[0xc4, 0xe1, 0x7a, 0x11, 0xb7, 0x08, 0x56, 0x34, 0x12],
        ),
        // vaddps ymm1, ymm2, ymm3; vfmadd231ps ymm4, ymm12, ymm5; vblendvps ymm1, ymm2, ymm3,
        // ymm12; vcmpps ymm7, ymm1, ymm2, 0x12
        (
            &|a| {
                a.begin_singles();
                a.operate(ADD, 1, 2, 3_u8);
                a.operate(MUL_ADD, 4, 12, 5_u8);
                a.select(1, 12, 3_u8, 2);
                a.compare(Comparison::LessOrEqual, 7, 1, 2_u8);
            },
            &[
                0xc4, 0xe1, 0x6c, 0x58, 0xcb, 0xc4, 0xe2, 0x1d, 0xb8, 0xe5, //
                0xc4, 0xe3, 0x6d, 0x4a, 0xcb, 0xc0, 0xc4, 0xe1, 0x74, 0xc2, 0xfa, 0x12,
            ],
        ),
        // mov r10, rdx; mov r9, rdi; shr r9, 1; shr rsi, 1; lea rdi, [rsp - 128]; vmovupd ymm1,
        // [rdx + 2 r8 + 0x1234567]; vmovupd ymm1, [rdx + r9 + 0x1234567]
        (
            &|a| {
                a.keep_arguments(true);
                a.load(1, address(NEAR, 0x123_4567, block));
                a.load(1, address(NEAR, 0x123_4567, Moves::SingleInLoop));
            },
            &[
                0x49, 0x89, 0xd2, 0x49, 0x89, 0xf9, 0x49, 0xd1, 0xe9, 0x48, 0xd1, 0xee, //
                0x48, 0x8d, 0x7c, 0x24, 0x80, //
                0xc4, 0xa1, 0x7d, 0x10, 0x8c, 0x42, 0x67, 0x45, 0x23, 0x01, //
                0xc4, 0xa1, 0x7d, 0x10, 0x8c, 0x0a, 0x67, 0x45, 0x23, 0x01,
            ],
        ),
        // lea eax, [r8 + 32]; test al, 0x60; jnz to the end; add r8, 32; add r9, 32; cmp r8, rsi;
        // jb to the first
        (
            &|a| {
                a.keep_arguments(true);
                a.bytes.truncate(a.bytes.len() - 17);
                let start = a.bytes.len();
                let skip = a.skip_unless_every(4);
                a.land(skip);
                a.end_loop(start);
            },
            &[
                0x41, 0x8d, 0x40, 0x20, 0xa8, 0x60, 0x0f, 0x85, 0, 0, 0, 0, //
                0x49, 0x83, 0xc0, 0x20, 0x49, 0x83, 0xc1, 0x20, 0x49, 0x39, 0xf0, //
                0x0f, 0x82, 0xe3, 0xff, 0xff, 0xff,
            ],
        ),
        // vzeroupper; ret
        (&|a| a.end(), &[0xc5, 0xf8, 0x77, 0xc3]),
    ];
    for (k, (write, expected)) in table.into_iter().enumerate() {
        let mut assembler = Assembler::default();
        assembler.begin([NEAR, far]);
        let start = assembler.bytes.len();
        write(&mut assembler);
        assert_eq!(&assembler.bytes[start..], expected, "row {k}");
    }
}

/// The same of instructions on whole vectors.
#[test]
fn wide_instructions_have_the_bytes_of_the_manual() {
    const NEAR: usize = 0x10_0000_0000;
    let address = |offset: usize, moves| Address { first: NEAR + offset, moves };
    type Write<'a> = &'a dyn Fn(&mut Assembler);
    let table: [(Write<'_>, &[u8]); 17] = [
        // vaddpd zmm1, zmm18, zmm27
        (&|a| a.operate(ADD, 1, 18, 27_u8), &[0x62, 0x91, 0xed, 0x40, 0x58, 0xcb]),
        // vdivpd zmm25, zmm10, zmm11
        (&|a| a.operate(DIV, 25, 10, 11_u8), &[0x62, 0x41, 0xad, 0x48, 0x5e, 0xcb]),
        // vfmadd231pd zmm4, zmm28, zmm21
        (&|a| a.operate(MUL_ADD, 4, 28, 21_u8), &[0x62, 0xb2, 0x9d, 0x40, 0xb8, 0xe5]),
        // vmovupd zmm13, [rdx + 0x12345678]
        (
            &|a| a.load(13, address(0x1234_5678, Moves::Never)),
            &[0x62, 0x71, 0xfd, 0x48, 0x10, 0xaa, 0x78, 0x56, 0x34, 0x12],
        ),
        // vmovupd zmm17, [rdx + r8 + 0x1234567]
        (
            &|a| a.load(17, address(0x123_4567, Moves::InBlock)),
            &[0x62, 0xa1, 0xfd, 0x48, 0x10, 0x8c, 0x02, 0x67, 0x45, 0x23, 0x01],
        ),
        // vmovupd [rdx + r9 + 0x12345678], zmm26
        (
            &|a| a.store(address(0x1234_5678, Moves::InLoop), 26),
            &[0x62, 0x21, 0xfd, 0x48, 0x11, 0x94, 0x0a, 0x78, 0x56, 0x34, 0x12],
        ),
        // vcmppd k1, zmm9, zmm18, 0x12; vpmovm2q zmm23, k1
        (
            &|a| a.compare(Comparison::LessOrEqual, 23, 9, 18_u8),
            &[
                0x62, 0xb1, 0xb5, 0x48, 0xc2, 0xca, 0x12, //
                0x62, 0xe2, 0xfe, 0x48, 0x38, 0xf9,
            ],
        ),
        // vpmovq2m k1, zmm28; vblendmpd zmm1 {k1}, zmm2, zmm19
        (
            &|a| a.select(1, 28, 19_u8, 2),
            &[
                0x62, 0x92, 0xfe, 0x48, 0x39, 0xcc, //
                0x62, 0xb2, 0xed, 0x49, 0x65, 0xcb,
            ],
        ),
        // vrndscalepd zmm3, zmm25, 8
        (&|a| a.round(3, 25_u8), &[0x62, 0x93, 0xfd, 0x48, 0x09, 0xd9, 0x08]),
        // vpsllq zmm28, zmm9, 52; vpsrlq zmm3, zmm18, 1
        (&|a| a.shift(28, 9, true, 52), &[0x62, 0xd1, 0x9d, 0x40, 0x73, 0xf1, 0x34]),
        (&|a| a.shift(3, 18, false, 1), &[0x62, 0xb1, 0xe5, 0x48, 0x73, 0xd2, 0x01]),
        // vpaddq zmm1, zmm2, zmm19; vmaxpd zmm17, zmm2, zmm3; vsqrtpd zmm3, zmm24
        (&|a| a.operate(ADD_BITS, 1, 2, 19_u8), &[0x62, 0xb1, 0xed, 0x48, 0xd4, 0xcb]),
        (&|a| a.operate(MAX, 17, 2, 3_u8), &[0x62, 0xe1, 0xed, 0x48, 0x5f, 0xcb]),
        (&|a| a.square_root(3, 24_u8), &[0x62, 0x91, 0xfd, 0x48, 0x51, 0xd8]),
        // vandpd zmm3, zmm24, zmm1; vfnmadd213pd zmm20, zmm12, zmm5; vmovapd zmm30, zmm7
        (&|a| a.operate(AND, 3, 24, 1_u8), &[0x62, 0xf1, 0xbd, 0x40, 0x54, 0xd9]),
        (&|a| a.operate(TIMES_THEN_SUB_FROM, 20, 12, 5_u8), &[0x62, 0xe2, 0x9d, 0x48, 0xac, 0xe5]),
        (&|a| a.copy(30, 7), &[0x62, 0x61, 0xfd, 0x48, 0x28, 0xf7]),
    ];
    for (k, (write, expected)) in table.into_iter().enumerate() {
        let mut assembler = Assembler::default();
        assembler.begin([NEAR, 0]);
        assembler.begin_wide();
        let start = assembler.bytes.len();
        write(&mut assembler);
        assert_eq!(&assembler.bytes[start..], expected, "row {k}");
    }
}

/// xor r8d, r8d; mov r11, rsi; and r11, -128; jz behind the loop; test r8b, 128; jz over nothing;
/// sub r8, -128; sub r9, -128; cmp r8, r11; jb to the test; cmp r8, rsi; je to the end; add r8, 64;
/// add r9, 64.
#[test]
fn loops_over_pairs_have_the_bytes_of_the_manual() {
    let mut a = Assembler::default();
    let (first, none) = a.begin_pairs();
    let skip = a.skip_unless_even_pair();
    a.land(skip);
    a.end_pairs(first);
    a.land(none);
    let none = a.skip_unless_single();
    a.end_single();
    a.land(none);
    let code = [
        0x45, 0x31, 0xc0, 0x49, 0x89, 0xf3, 0x49, 0x83, 0xe3, 0x80, 0x0f, 0x84, 27, 0, 0,
        0, //
        0x41, 0xf6, 0xc0, 0x80, 0x0f, 0x84, 0, 0, 0, 0, //
        0x49, 0x83, 0xe8, 0x80, 0x49, 0x83, 0xe9, 0x80, 0x4d, 0x39, 0xd8, //
        0x0f, 0x82, 0xe5, 0xff, 0xff, 0xff, //
        0x49, 0x39, 0xf0, 0x0f, 0x84, 8, 0, 0, 0, //
        0x49, 0x83, 0xc0, 0x40, 0x49, 0x83, 0xc1, 0x40,
    ];
    assert_eq!(a.bytes, code);
}

/// A literal is one number that an instruction on whole vectors spreads.
#[test]
fn wide_literals_are_spread() {
    let mut assembler = Assembler::default();
    assembler.begin_wide();
    // vbroadcastsd zmm5, [rip + 54]; vaddpd zmm17, zmm2, [rip + 44] {1to8}; vcmppd k1, zmm9, [rip +
    // 65] {1to8}, 0x1e and vpmovm2q zmm7, k1: from the ends of these instructions at 10, 20 and 31
    // to the literals at 64 and 96.
    assembler.set_to(5, Source::Literal(5));
    assembler.operate(ADD, 17, 2, Source::Literal(5));
    assembler.compare(Comparison::Greater, 7, 9, Source::Literal(6));
    let code = [
        0x62, 0xf2, 0xfd, 0x48, 0x19, 0x2d, 54, 0, 0, 0, //
        0x62, 0xe1, 0xed, 0x58, 0x58, 0x0d, 44, 0, 0, 0, //
        0x62, 0xf1, 0xb5, 0x58, 0xc2, 0x0d, 65, 0, 0, 0, 0x1e, //
        0x62, 0xf2, 0xfe, 0x48, 0x38, 0xf9,
    ];
    let bytes = assembler.finished();
    assert_eq!(&bytes[..37], code);
    assert_eq!(bytes[64..72], 5_u64.to_le_bytes());
    assert_eq!(bytes[96..104], 6_u64.to_le_bytes());
}

#[test]
fn literals_stand_behind_the_code() {
    let mut assembler = Assembler::default();
    // vcmppd ymm7, ymm1, [rip + 22], 0x1e; vaddpd ymm1, ymm2, [rip + 45]; vmulpd ymm1, ymm2, [rip +
    // 4]: from the ends of these instructions at 10, 19 and 28 to the literals at 32 and 64.
    assembler.compare(Comparison::Greater, 7, 1, Source::Literal(5));
    assembler.operate(ADD, 1, 2, Source::Literal(6));
    assembler.operate(MUL, 1, 2, Source::Literal(5));
    let code = [
        0xc4, 0xe1, 0x75, 0xc2, 0x3d, 22, 0, 0, 0, 0x1e, //
        0xc4, 0xe1, 0x6d, 0x58, 0x0d, 45, 0, 0, 0, //
        0xc4, 0xe1, 0x6d, 0x59, 0x0d, 4, 0, 0, 0,
    ];
    let bytes = assembler.finished();
    assert_eq!(&bytes[..28], code);
    let literals: Vec<u64> =
        bytes[32..].as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
    assert_eq!(literals, [5, 5, 5, 5, 6, 6, 6, 6]);
}
