internal import CSystemd
internal import Glibc
package import LinuxIO

/// Descriptors that the service manager keeps over a restart of this process (FileDescriptorStoreMax= of the unit, sd_notify(3)).
package enum KeptDescriptors {
  /// Gives the manager a copy under this name. Returns false if no manager listens; a manager that keeps none does not say so.
  package static func keep(_ descriptor: FileDescriptor, as name: String) -> Bool {
    // FDPOLL=0 would keep one whose other end has closed.
    withUnsafePointer(to: descriptor.number) { sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=\(name)", $0, 1) } > 0
  }

  /// Makes the manager close its copy.
  package static func forget(_ name: String) { sd_notify(0, "FDSTOREREMOVE=1\nFDNAME=\(name)") }

  /// Takes what an earlier process has given, by name; once, and before another program starts. They are closed in programs.
  package static func take() -> [String: FileDescriptor] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = sd_listen_fds_with_names(1, &names)
    guard count > 0, let names else { return [:] }
    var found: [String: FileDescriptor] = [:]
    for index in 0..<Int(count) {
      // Always opened: two under one name would otherwise leave one open for ever.
      let file = FileDescriptor(owning: SD_LISTEN_FDS_START + Int32(index))
      if let name = names[index] {
        found[String(cString: name)] = file
        free(name)
      }
    }
    free(names)
    return found
  }
}
