# Draws lines, text, images and moves, always to the same last picture; then says "ready" and
# stays until its standard input ends.
package require Tk
wm overrideredirect . 1
wm geometry . 600x440+0+0
. configure -cursor arrow
canvas .c -width 600 -height 300 -background white -highlightthickness 0
text .t -width 80 -height 10 -font {fixed -12} -insertofftime 0 -insertwidth 0 -takefocus 0
pack .c .t -fill both

image create photo gradient -width 200 -height 150
image create photo copy -width 200 -height 150
proc paint {phase} {
    for {set y 0} {$y < 150} {incr y} {
        set row {}
        for {set x 0} {$x < 200} {incr x} {
            lappend row [format "#%02x%02x%02x" $x [expr {$y + $phase}] [expr {($x * $y + $phase) % 256}]]
        }
        gradient put [list $row] -to 0 $y
    }
}

tkwait visibility .
for {set i 0} {$i < 60} {incr i} {
    .c create line 0 [expr {$i * 5}] 600 [expr {300 - $i * 5}] -fill [format "#%02x40%02x" [expr {$i * 4}] [expr {255 - $i * 4}]]
}
set picture [.c create image 20 20 -image gradient -anchor nw]
.c create image 380 100 -image copy -anchor nw
.c create oval 250 40 350 140 -fill orange -outline black -width 3
.c create text 300 250 -text "Slipway" -font {Helvetica -28} -fill navy
set box [.c create rectangle 0 200 40 240 -fill red]
foreach phase {0 50 100} {
    paint $phase
    copy copy gradient
    update
}
for {set i 0} {$i < 100} {incr i} {
    .c move $box 4 0
    .c move $picture 1 1
    update
}
for {set i 0} {$i < 300} {incr i} {
    .t insert end "line $i: the quick brown fox jumps over the lazy dog\n"
    .t see end
    if {$i % 10 == 0} {update}
}
update
# A reply comes only after all that was sent before.
winfo pointerxy .
puts ready
flush stdout
fileevent stdin readable {if {[gets stdin line] < 0} exit}
