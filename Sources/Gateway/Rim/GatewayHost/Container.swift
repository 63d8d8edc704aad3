internal import Glibc

/// The container that a gateway runs in, where no systemd manages it.
enum Container {
  /// Whether this process is in one: its image sets `container` (systemd's container interface), and so does podman.
  static var isPresent: Bool { getenv("container") != nil && access("/run/systemd/system", F_OK) != 0 }

  /// The cure of a missing right, where the caller knows one for a machine.
  static func cure(_ options: String, onMachine: String) -> String { isPresent ? "run the container with \(options)" : onMachine }
}
