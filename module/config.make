# Sourced by nginx's auto/make after it has written its makefile. C++ needs flags that its C files can't take, so
# they are set for our objects alone. ngx_modules stays visible: nginx's make compiles that table without these flags.

# g++ has this option, clang does not. STB_GNU_UNIQUE symbols would pin a module in memory across reloads.
tollgate_option=-fno-gnu-unique
echo 'int main(){}' | $CC -x c++ $tollgate_option -fsyntax-only - 2>/dev/null || tollgate_option=

# The sources are included, so g++ takes them for headers. It warns that frames of coroutines have members whose types are
# in an anonymous namespace.
for tollgate_source in "$NGX_OBJS"/tollgate/*.cpp; do
    tollgate_object=$NGX_OBJS/addon/tollgate/$(basename "$tollgate_source" .cpp).o
    echo "$tollgate_object: CFLAGS += -std=c++20 -fvisibility=hidden -fvisibility-inlines-hidden" \
        "-Wno-subobject-linkage $tollgate_option"
done >> "$NGX_MAKEFILE"
