# void turn(volatile uint64_t *line, uint64_t from, uint64_t times)
# Replaces `from` (0 or 1) by the other of the two, `times` times, each time waiting until it is there. Two threads,
# one that turns 0 to 1 and one that turns 1 to 0, hand a cache line to and fro.
        .text
        .globl turn
        .type turn, %function
turn:
        mov     $1, %r8d
        sub     %rsi, %r8
again:
        mov     %rsi, %rax
        lock cmpxchg %r8, (%rdi)
        jne     again
        dec     %rdx
        jnz     again
        ret
        .section .note.GNU-stack,"",%progbits
