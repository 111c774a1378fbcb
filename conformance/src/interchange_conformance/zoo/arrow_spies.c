/* Release callbacks that count, and call those of another library.
 *
 * Source: the Arrow C data and C stream interfaces, Release callback semantics. A spy takes the
 * place of release and private_data in a struct, and puts the original back before it calls it.
 * Structs are read by where their last two members are (arrow/spies.py). */
#include <stdint.h>
#include <string.h>

struct spy {
    void (*release)(void *);
    void *private_data;
    int64_t calls; /* the second and later ones are not handed on */
    int64_t left; /* whether the original left its release in the struct */
    int64_t looks; /* whether to look at the struct afterwards */
};

static void spy_on(char *one, int64_t release_at) {
    struct spy *spy;
    void (*none)(void *) = NULL, (*after)(void *);
    memcpy(&spy, one + release_at + sizeof none, sizeof spy);
    spy->calls++;
    if (spy->calls > 1) {
        memcpy(one + release_at, &none, sizeof none);
        return;
    }
    memcpy(one + release_at, &spy->release, sizeof spy->release);
    memcpy(one + release_at + sizeof none, &spy->private_data, sizeof spy->private_data);
    spy->release(one);
    if (spy->looks) {
        memcpy(&after, one + release_at, sizeof after);
        spy->left = after != NULL;
    }
}

void spy_on_schema(char *one) {
    spy_on(one, 56);
}

void spy_on_array(char *one) {
    spy_on(one, 64);
}

void spy_on_stream(char *one) {
    spy_on(one, 24);
}

void spy_on_device_stream(char *one) {
    spy_on(one, 32);
}
