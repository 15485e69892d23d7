"""detection_plugin: a shared library of registered types, loaded by `plugins: [path.so]` in a config.

A plugin compiles against the headers of core and links none of its objects: its calls go to the program that
loads it (binaries are linked with -rdynamic, libraries are alwayslink). With objects of its own it would have a
second copy of every static, the registries among them, and register its types where nobody looks.
"""

def _headers_only_impl(ctx):
    infos = [CcInfo(compilation_context = dep[CcInfo].compilation_context) for dep in ctx.attr.deps]
    return [cc_common.merge_cc_infos(cc_infos = infos)]

# The headers of `deps` without their objects.
headers_only = rule(
    implementation = _headers_only_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

_HASH_HEADERS = """
output=$1; shift
printf '#define OSPREY_PLUGIN_VERSION "%s"\\n' "$(cat "$@" | sha256sum | cut -c1-16)" > "$output"
"""

def _plugin_version_impl(ctx):
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    own = {file.short_path: file for file in headers.to_list() if not file.short_path.startswith("../")}
    sorted_headers = [own[path] for path in sorted(own)]
    output = ctx.actions.declare_file(ctx.label.name + ".h")
    arguments = ctx.actions.args()
    arguments.add(output)
    arguments.add_all(sorted_headers)
    ctx.actions.run_shell(
        command = _HASH_HEADERS,
        arguments = [arguments],
        inputs = sorted_headers,
        outputs = [output],
        mnemonic = "PluginVersion",
    )
    return [CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([output])))]

# NAME.h: OSPREY_PLUGIN_VERSION, a hash of all headers that `deps` offer. Changed headers make a new version.
plugin_version = rule(
    implementation = _plugin_version_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def detection_plugin(name, srcs, deps = [], copts = [], **kwargs):
    """Builds NAME.so from `srcs`. `deps` are libraries whose headers it needs beyond //tools/plugins:plugin_api.

    Hidden visibility keeps a plugin's classes apart from the program's: a class that carries the name of one of
    core (a copied L1Loss, edited) would otherwise run core's code.
    """
    headers_only(
        name = name + "_headers",
        testonly = kwargs.get("testonly", False),
        deps = deps + ["//tools/plugins:plugin_api"],
    )
    native.cc_binary(
        name = name + ".so",
        srcs = srcs + ["//tools/plugins:plugin_stamp.cc"],
        linkshared = True,
        copts = copts + ["-fvisibility=hidden", "-fvisibility-inlines-hidden"],
        deps = [":" + name + "_headers", "//tools/plugins:plugin_version"],
        **kwargs
    )
