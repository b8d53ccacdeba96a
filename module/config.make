# Sourced by nginx's auto/make after it has written its makefile. C++ needs flags that its C files can't take, so
# they are set for our objects alone. ngx_modules stays visible: nginx's make compiles that table without these flags.

for tollgate_source in $(cat "$ngx_addon_dir/sources" "$ngx_addon_dir/../backend/sources"); do
    tollgate_object=$(basename "$(dirname "$tollgate_source")")/$(basename "$tollgate_source" .cpp).o
    echo "$NGX_OBJS/addon/$tollgate_object: CFLAGS += -std=c++20 -fvisibility=hidden -fvisibility-inlines-hidden \
$(echo 'int main(){}' | $CC -x c++ -fno-gnu-unique -fsyntax-only - 2>/dev/null && echo -fno-gnu-unique)"
done >> "$NGX_MAKEFILE"
