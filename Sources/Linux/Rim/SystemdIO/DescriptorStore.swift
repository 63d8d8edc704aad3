internal import CSystemd
internal import Glibc
package import LinuxIO

/// The service manager's store of descriptors, which lasts over a restart of this process (FileDescriptorStoreMax= of the unit,
/// sd_notify(3)).
package final class DescriptorStore {
  /// The number of further descriptors that the manager keeps. It reports none that it refuses for want of room.
  package var room: Int

  package init(room: Int = 0) { self.room = room }

  /// Gives the manager a copy under this name. Returns false if it keeps no more.
  package func keep(_ descriptor: FileDescriptor, as name: String) -> Bool {
    // FDPOLL=0 would keep one whose other end has closed.
    let message = "FDSTORE=1\nFDNAME=\(name)"
    guard room > 0, withUnsafePointer(to: descriptor.number, { sd_pid_notify_with_fds(0, 0, message, $0, 1) }) > 0 else { return false }
    room -= 1
    return true
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
