# bash completion for symcachectl(1): commands, options, and files where the
# manual page has a file or folder.

_symcachectl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local asks='-c --store --json --socket' words=

    if [ "$COMP_CWORD" -eq 1 ]; then
        words='lookup dump verify convert warm why forget jobs sources status
               drain symbolicate minidump retrace ls import clean tier transcoder upload uploads
               watch symbfile bundle-sources sort
               -h --help -V
               --version'
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi

    if [ "$COMP_CWORD" -eq 2 ] && [ "${cur:0:1}" != - ]; then
        case ${COMP_WORDS[1]} in
        symbfile)           words='make show lookup push' ;;
        tier)               words='ls clean rule' ;;
        transcoder)         words='check init' ;;
        uploads)            words='ls rm pin unpin builds forget' ;;
        esac
        if [ -n "$words" ]; then
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
            return
        fi
    fi

    case $prev in
    --kind)
            if [ "${COMP_WORDS[1]}" = convert ]; then
                words='symcache ppdbcache cficache codecache sourcecache proguardcache jscache breakpad'
            else
                words='symcache ppdbcache cficache sym debuginfo executable sourcebundle source section
                       symbfile jscache msfz uuidmap bcsymbolmap il2cpp dwp sourcecache
                       breakpad mapping proguardcache file codecache cabinet gzip symgzip'
            fi
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
            return ;;
    -c | -o) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --root) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --store | --socket | --peers | --version | --concurrency | --attempts | \
    --malformed-since | --unused-for | --older-than | --url | --token | --expires | \
    --after | --api-key | --parts | --bundle-id | --org | \
    --project)
            return ;;
    esac

    case ${COMP_WORDS[1]} in
    lookup)             words='--json' ;;
    convert)            words='-o --kind --text --arch --id --altlink --dwp --image --symbol-map --line-mapping --like-symbolic --strict' ;;
    why)                words="$asks --peers --kind" ;;
    jobs | sources | status) words="$asks --peers" ;;
    symbolicate)        words="$asks --root --symbols --url --images --maps --release --dist --debug-id --why --mapping
                               --org --project --token" ;;
    retrace)            words="--quiet --info" ;;
    minidump)           words="$asks --root --url --schema" ;;
    warm)               words="$asks --kind --version --concurrency --attempts" ;;
    drain)              words="$asks --end" ;;
    forget)             words="$asks --peers --malformed-since" ;;
    ls)                 words='-c --store --json --root --present --absent
                               --unused-for' ;;
    import)             words='-c --store --json --root --dry-run' ;;
    clean)              words='-c --unknown --dry-run --json' ;;
    tier)               words='-c --older-than --former --dry-run --json' ;;
    transcoder)         words='-c' ;;
    uploads)            words="$asks --root --product --branch --build
                               --release" ;;
    upload)             words='--url --token --expires --force --try --warm
                               --json --watch --product --branch --build' ;;
    watch)              words="$asks --after --once" ;;
    bundle-sources)     words='-o' ;;
    sort)               words='-o --bundle-id -z -zz -zzz --with-sources' ;;
    symbfile)           words='-o --return-pads --url --api-key --parts
                               --debug-file' ;;
    esac

    if [ "${cur:0:1}" = - ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

complete -o filenames -F _symcachectl symcachectl
