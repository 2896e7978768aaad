/* weblist.js: keys on the page of `pitot weblist`. n and p: the next and the previous line with samples;
 * e and c: open and close all. */
(function(){
  var hot=[].slice.call(document.querySelectorAll('[data-hot]')),at=-1;
  function go(step){
    if(!hot.length)return;
    at=(at+step+hot.length)%hot.length;
    var row=hot[at];
    (row.querySelector('summary')||row).focus({preventScroll:true});
    row.scrollIntoView({block:'center'});
  }
  function all(open){
    document.querySelectorAll('details').forEach(function(d){d.open=open;});
  }
  document.addEventListener('focusin',function(e){
    var row=e.target.closest('[data-hot]');
    if(row)at=hot.indexOf(row);
  });
  document.addEventListener('keydown',function(e){
    if(e.ctrlKey||e.metaKey||e.altKey)return;
    if(e.key==='n')go(1);
    else if(e.key==='p')go(at<0?0:-1);
    else if(e.key==='e')all(true);
    else if(e.key==='c')all(false);
  });
})();
