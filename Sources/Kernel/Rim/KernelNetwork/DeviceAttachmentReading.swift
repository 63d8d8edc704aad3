internal import Glibc
package import KernelModel
import LinuxIO
import NetworkTypes

extension DeviceAttachment {
  /// Reads `/sys/class/net` (under `root`) for a link.
  ///
  /// A sysfs belongs to the network namespace in which it was mounted, which need not be the link's. Its data counts only if index and
  /// hardware address there are the link's own; otherwise nothing is known.
  package init(of link: Link, root: String = "/sys") {
    self.init()
    let folder = "\(root)/class/net/\(link.name)"
    guard word(folder + "/ifindex") == String(link.index.value) else { return }
    if let address = link.address, let there = word(folder + "/address"), there != address.description { return }
    deviceType = property("DEVTYPE", in: folder + "/uevent")
    bus = linkTarget(folder + "/device/subsystem")
    driver = linkTarget(folder + "/device/driver")
    guard bus == "usb" else { return }
    for name in entries(of: folder + "/device/..") where name.contains(":") {
      let interface = folder + "/device/../" + name
      guard let code = hexadecimal(interface + "/bInterfaceClass"), let subclass = hexadecimal(interface + "/bInterfaceSubClass"),
        let protocolCode = hexadecimal(interface + "/bInterfaceProtocol")
      else { continue }
      usbInterfaces.insert(USBInterfaceClass(code, subclass, protocolCode))
    }
  }
}

/// The file's first line.
private func word(_ path: String) -> String? { text(path)?.split(separator: "\n").first.map(String.init) }

private func text(_ path: String) -> String? { (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } }

private func hexadecimal(_ path: String) -> UInt8? { word(path).flatMap { UInt8($0, radix: 16) } }

/// The value of a `NAME=value` line.
private func property(_ name: String, in path: String) -> String? {
  text(path)?.split(separator: "\n").first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
}

/// The last path component of a symbolic link's target.
private func linkTarget(_ path: String) -> String? {
  let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
    count = buffer.withMemoryRebound(to: CChar.self) { text in
      text.baseAddress.map { max(readlink(path, $0, text.count), 0) } ?? 0
    }
  }
  return String(decoding: bytes, as: UTF8.self).split(separator: "/").last.map(String.init)
}

private func entries(of folder: String) -> [String] {
  guard let stream = opendir(folder) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { names.append(String(cString: $0)) }
    }
  }
  return names
}
