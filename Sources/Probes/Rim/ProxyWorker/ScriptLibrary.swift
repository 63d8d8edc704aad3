internal import Glibc

/// libpacparser, which runs scripts of proxies. It is loaded where it is installed: nothing else of Roamward needs it.
struct ScriptLibrary {
  private typealias Text = UnsafePointer<CChar>
  private typealias Parse = @convention(c) (Text) -> Int32
  private typealias Find = @convention(c) (Text, Text) -> UnsafeMutablePointer<CChar>?
  private typealias SetAddress = @convention(c) (Text) -> Void

  private let parse: Parse
  private let findProxy: Find
  private let setAddress: SetAddress

  /// Loads it, and begins; `nil`: it is not installed. To be called before the confinement.
  init?() {
    guard let library = dlopen("libpacparser.so.1", RTLD_NOW | RTLD_LOCAL), let begin = dlsym(library, "pacparser_init"),
      let parse = dlsym(library, "pacparser_parse_pac_string"), let find = dlsym(library, "pacparser_find_proxy"),
      let setAddress = dlsym(library, "pacparser_setmyip"),
      unsafeBitCast(begin, to: (@convention(c) () -> Int32).self)() == 1
    else { return nil }
    self.parse = unsafeBitCast(parse, to: Parse.self)
    findProxy = unsafeBitCast(find, to: Find.self)
    self.setAddress = unsafeBitCast(setAddress, to: SetAddress.self)
  }

  /// The result of the script's function; `nil`: it has none, or the script has an error.
  func find(_ url: String, _ host: String, _ ownAddress: String, by script: [UInt8]) -> String? {
    // A byte 0 would end the text.
    guard !script.contains(0), !url.utf8.contains(0), !host.utf8.contains(0) else { return nil }
    setAddress(ownAddress)
    let isParsed = (script + [0]).withUnsafeBytes { bytes in
      bytes.baseAddress.map { parse($0.assumingMemoryBound(to: CChar.self)) == 1 } ?? false
    }
    guard isParsed, let result = findProxy(url, host) else { return nil }
    return String(cString: result)
  }
}
