import Glibc

/// A tunnel that a program of the scene brings up and takes down: `vpn`, which makes the link vpn0.
struct CommandTunnel {
  static let makesLink = "ip tuntap add vpn0 mode tun; ip link set vpn0 up; ip address add 10.99.0.2/32 dev vpn0"
  static let removesLink = "ip link del vpn0 2>/dev/null || true"

  /// The program's actions in the scene's folder, in words of bash: first those of every call (`$1` names it), then those of each.
  var first = "echo $1 >>calls"
  var up = makesLink
  var down = removesLink
  /// `nil`: nobody asks.
  var status: String?
  /// Of each call, where it is not the usual one.
  var timeout: String?

  /// Makes the program, and a policy `vpn.yaml` with the tunnel `vpn`: up everywhere but on cables.
  func write(in scene: Scene) throws {
    try writeProgram(in: scene)
    try scene.write(
      "policies/vpn.yaml",
      """
      version: 1
      tunnels:
        vpn:
          provider: \(provider(in: scene))
          on-demand:
            timing: { release-delay: 0s }
            rules: [{ match: { interface-name: "eth*" }, action: disconnect }, { action: connect }]
          routes: { include: [10.99.0.0/16] }

      """)
  }

  func writeProgram(in scene: Scene) throws {
    try scene.write("calls", "")
    try scene.write(
      "vpn",
      """
      #!/usr/bin/env bash
      cd '\(scene.folder)'
      \(first)
      case $1 in
        up)
          \(up) ;;
        down)
          \(down) ;;
        status)
          \(status ?? ":") ;;
      esac

      """)
    chmod("\(scene.folder)/vpn", 0o755)
  }

  /// The provider of the tunnel, as a policy has it.
  func provider(in scene: Scene) -> String {
    let calls = ["up", "down"] + (status == nil ? [] : ["status"])
    let members = calls.map { "\($0): [\"\(scene.folder)/vpn\", \($0)]" } + ["interface: vpn0"] + (timeout.map { ["timeout: \($0)"] } ?? [])
    return "{ command: { \(members.joined(separator: ", ")) } }"
  }
}
