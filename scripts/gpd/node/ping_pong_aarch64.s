// void turn(volatile uint64_t *line, uint64_t from, uint64_t times)
// Replaces `from` (0 or 1) by the other of the two, `times` times, each time waiting until it is there. Two threads,
// one that turns 0 to 1 and one that turns 1 to 0, hand a cache line to and fro.
        .text
        .globl turn
        .type turn, %function
turn:
        mov     x3, #1
        sub     x3, x3, x1
again:
        ldaxr   x4, [x0]
        cmp     x4, x1
        b.ne    again
        stlxr   w5, x3, [x0]
        cbnz    w5, again
        subs    x2, x2, #1
        b.ne    again
        ret
        .section .note.GNU-stack,"",%progbits
