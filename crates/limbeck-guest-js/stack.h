/* Included before every C source of the engine (`xtask/src/guests.rs`).
 *
 * The engine stops recursion by comparing the address of its frame with a limit. In WebAssembly that
 * address is one of the shadow stack, which only functions with addressable locals use; a function
 * without them could recurse until the real stack, which nobody can see, is full, and the host ends
 * the guest. A small buffer in every function that asks makes its depth visible, so the program gets
 * the engine's RangeError instead.
 */
#define __builtin_frame_address(level)              \
    (__extension__({                                \
        volatile char limbeck_frame[192];            \
        limbeck_frame[0] = 0;                       \
        (char *)&limbeck_frame[0];                  \
    }))
